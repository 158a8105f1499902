// Writes facts as bytes, and reads them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/fact_code.h"

#include <algorithm>

namespace vramscope {

void FactWriter::begin(FactType type, std::uint64_t index) {
  if (chunks_.empty() || chunks_.back().size() > kChunkBytes) chunks_.emplace_back();
  chunks_.back() += static_cast<char>(type);
  number(index);
}

void FactWriter::number(std::uint64_t value) {
  std::byte bytes[kMostNumberBytes];
  const std::byte* const end = put_number(bytes, value);
  chunks_.back().append(reinterpret_cast<const char*>(bytes),
                        static_cast<std::size_t>(end - bytes));
}

void FactWriter::text(const std::string& value) {
  number(value.size());
  chunks_.back() += value;
}

void put(FactWriter& out, const FrameFact& frame) {
  out.number(frame.module == kNoModule ? 0 : std::uint64_t{frame.module} + 1);
  out.number(frame.offset);
  out.number(frame.code == kNoCode ? 0 : std::uint64_t{frame.code} + 1);
  out.number(frame.line);
}
void put(FactWriter& out, const SourceFact& source) {
  out.text(source.path);
  out.number(source.bytes);
  out.number(source.modified_ns);
}
void put(FactWriter& out, const CodeFact& code) {
  out.text(code.name);
  out.number(code.source);
  out.number(code.first_line);
}
void put(FactWriter& out, const SiteFact& site) {
  out.number(site.frames.size());
  for (const std::uint32_t frame : site.frames) out.number(frame);
}
void put(FactWriter& out, const TagFact& tag) {
  out.number(tag.site);
  out.number(static_cast<std::uint64_t>(tag.place.kind));
  out.number(tag.place.device);
  for (const std::uint32_t value : tag.values) out.number(value);
}
void put(FactWriter& out, const std::string& text) { out.text(text); }
void put(FactWriter& out, const ModuleFact& module) {
  out.text(module.path);
  out.text(module.build_id);
  out.number(module.base);
}
void put(FactWriter& out, const ThreadFact& thread) {
  out.number(static_cast<std::uint64_t>(thread.id));
  out.text(thread.name);
}
void put_stream(FactWriter& out, std::uint64_t number, const StreamFact& stream) {
  out.begin(stream.name.empty() ? FactType::stream : FactType::named_stream, number);
  out.number(stream.handle);
  if (!stream.name.empty()) out.text(stream.name);
}
void put(FactWriter& out, const RangeFact& range) {
  out.number(range.parent);
  out.text(range.domain);
  out.text(range.name);
}
void put_passes(FactWriter& out, std::uint64_t number, const RangeFact& range) {
  out.begin(FactType::passes, number);
  out.number(range.entered);
}

void put(FactWriter& out, const MarkFact& mark) {
  out.number(mark.clock_ns);
  out.text(mark.name);
}

void put(FactWriter& out, const RepeatedMark& mark) {
  out.text(mark.name);
  out.number(mark.marks);
  out.number(mark.clocks_ns.size());
  std::uint64_t last_ns = 0;
  for (const std::uint64_t clock_ns : mark.clocks_ns) {
    out.number(clock_ns - last_ns);
    last_ns = clock_ns;
  }
}

namespace {

constexpr std::uint64_t kMostFacts = std::uint64_t{1} << 24;  // of one type; more is damage
constexpr std::uint64_t kAny32 = std::uint64_t{1} << 32;

void get(TraceBytes& bytes, std::string& text) { text = bytes.text(); }
// Reads a text to which many frames refer, so its length is limited.
void get_short(TraceBytes& bytes, std::string& text, std::size_t most_bytes = kLongestText) {
  const std::string_view found = bytes.text();
  if (found.size() > most_bytes) bytes.fail();
  text = found;
}
void get(TraceBytes& bytes, ModuleFact& module) {
  get_short(bytes, module.path);
  get_short(bytes, module.build_id, kMostBuildIdDigits);
  module.base = bytes.number();
}
void get(TraceBytes& bytes, FrameFact& frame) {
  const std::uint32_t module = bytes.below(kAny32);
  frame.module = module == 0 ? kNoModule : module - 1;
  frame.offset = bytes.number();
  const std::uint32_t code = bytes.below(kAny32);
  frame.code = code == 0 ? kNoCode : code - 1;
  frame.line = bytes.below(kAny32);
}
void get(TraceBytes& bytes, SourceFact& source) {
  get_short(bytes, source.path);
  source.bytes = bytes.number();
  source.modified_ns = bytes.number();
}
void get(TraceBytes& bytes, CodeFact& code) {
  get_short(bytes, code.name);
  code.source = bytes.below(kAny32);
  code.first_line = bytes.below(kAny32);
}
void get(TraceBytes& bytes, SiteFact& site) {
  site.frames.resize(bytes.below(1024));
  for (std::uint32_t& frame : site.frames) frame = bytes.below(kAny32);
}
void get(TraceBytes& bytes, TagFact& tag) {
  tag.site = bytes.below(kAny32);
  tag.place.kind = static_cast<Kind>(bytes.below(kKinds));
  tag.place.device = static_cast<std::uint16_t>(bytes.below(kMaxDevices));
  for (std::uint32_t& value : tag.values) value = bytes.below(kAny32);
}
void get(TraceBytes& bytes, ThreadFact& thread) {
  thread.id = static_cast<std::int64_t>(bytes.number());
  thread.name = bytes.text();
}
void get(TraceBytes& bytes, StreamFact& stream) { stream.handle = bytes.number(); }
struct NamedStream : StreamFact {};
void get(TraceBytes& bytes, NamedStream& stream) {
  stream.handle = bytes.number();
  stream.name = bytes.text();
}
void get(TraceBytes& bytes, RangeFact& range) {
  range.parent = bytes.below(kAny32);
  range.domain = bytes.text();
  range.name = bytes.text();
}
void get(TraceBytes& bytes, TraceProcess& process) {
  process.pid = static_cast<std::int64_t>(bytes.number());
  process.executable = bytes.text();
  process.mode = bytes.text();
  process.tool_version = bytes.text();
  process.wall_ns = bytes.number();
  process.clock_ns = bytes.number();
}

void get_passes(TraceBytes& bytes, std::vector<RangeFact>& ranges) {
  const std::uint64_t index = bytes.number();
  const std::uint64_t entered = bytes.number();
  if (index >= kMostFacts) bytes.fail();
  if (!bytes.bad() && index < ranges.size()) ranges[index].entered = entered;
}

// As: the type in which the fact is written.
template <class Fact, class As = Fact>
void get_into(TraceBytes& bytes, std::size_t most_missing, std::vector<Fact>& facts) {
  const std::uint32_t index =
      bytes.below(std::min<std::uint64_t>(kMostFacts, facts.size() + most_missing + 1));
  As fact;
  get(bytes, fact);
  if (bytes.bad()) return;
  if (index >= facts.size()) facts.resize(std::size_t{index} + 1);
  facts[index] = std::move(fact);
}

}  // namespace

void get_mark(TraceBytes& bytes, std::vector<MarkFact>& marks) {
  const std::uint64_t number = bytes.number();
  MarkFact mark{.clock_ns = bytes.number(), .name = {}};
  get_short(bytes, mark.name);
  if (number >= kMostFacts) bytes.fail();
  if (!bytes.bad() && number >= marks.size()) marks.push_back(std::move(mark));
}

void get_repeated_mark(TraceBytes& bytes, std::vector<RepeatedMark>& marks) {
  const std::uint32_t index = bytes.below(std::min<std::uint64_t>(marks.size() + 1, kMostFacts));
  RepeatedMark mark;
  get_short(bytes, mark.name);
  mark.marks = bytes.number();
  mark.clocks_ns.resize(bytes.below(1024));
  std::uint64_t last_ns = 0;
  for (std::uint64_t& clock_ns : mark.clocks_ns) clock_ns = last_ns += bytes.number();
  if (bytes.bad()) return;
  if (index >= marks.size()) marks.emplace_back();
  marks[index] = std::move(mark);
}

bool get_fact(FactType type, TraceBytes& bytes, std::size_t most_missing, TraceNames& names) {
  switch (type) {
    case FactType::process:
      if (bytes.number() != 0) bytes.fail();
      get(bytes, names.process);
      break;
    case FactType::function:
      get_into(bytes, most_missing, names.functions);
      break;
    case FactType::module:
      get_into(bytes, most_missing, names.facts.modules);
      break;
    case FactType::frame:
      get_into(bytes, most_missing, names.facts.frames);
      break;
    case FactType::site:
      get_into(bytes, most_missing, names.facts.sites.own());
      break;
    case FactType::owner:
      get_into(bytes, most_missing, names.facts.owners);
      break;
    case FactType::tag:
      get_into(bytes, most_missing, names.facts.tags.own());
      break;
    case FactType::thread:
      get_into(bytes, most_missing, names.facts.threads);
      break;
    case FactType::stream:
      get_into(bytes, most_missing, names.facts.streams);
      break;
    case FactType::named_stream:
      get_into<StreamFact, NamedStream>(bytes, most_missing, names.facts.streams);
      break;
    case FactType::range:
      get_into(bytes, most_missing, names.facts.ranges);
      break;
    case FactType::passes:
      get_passes(bytes, names.facts.ranges);
      break;
    case FactType::source:
      get_into(bytes, most_missing, names.facts.sources);
      break;
    case FactType::code:
      get_into(bytes, most_missing, names.facts.codes);
      break;
    default:
      bytes.fail();
  }
  return !bytes.bad();
}

bool read_trace_facts(std::span<const std::byte> content, std::size_t most_missing,
                      TraceNames& names) {
  TraceBytes bytes(content);
  while (!bytes.empty()) {
    if (!get_fact(static_cast<FactType>(bytes.byte()), bytes, most_missing, names)) return false;
  }
  return true;
}

void close_trace_names(TraceNames& names) {
  RecorderFacts& facts = names.facts;
  if (facts.sites.empty()) facts.sites.own().emplace_back();
  if (facts.tags.empty()) facts.tags.own().emplace_back();
  for (FrameFact& frame : facts.frames) {
    if (frame.module >= facts.modules.size()) frame.module = kNoModule;
    const bool has_code =
        frame.code < facts.codes.size() && facts.codes[frame.code].source < facts.sources.size();
    if (!has_code) frame.code = kNoCode;
  }
  for (SiteFact& site : facts.sites.own()) {
    std::erase_if(site.frames, [&](std::uint32_t frame) { return frame >= facts.frames.size(); });
  }
  for (TagFact& tag : facts.tags.own()) {
    if (tag.site >= facts.sites.size()) tag.site = 0;
  }
}

}  // namespace vramscope
