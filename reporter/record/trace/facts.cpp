// Writes the meaning of the numbers in events.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/facts.h"

#include <algorithm>

#include "reporter/record/trace/format.h"

namespace vramscope {

namespace {

// Writes the facts from `known` on.
template <class Fact>
void put_new(FactWriter& out, FactType type, const std::vector<Fact>& facts, std::size_t known) {
  for (std::size_t i = known; i < facts.size(); ++i) {
    out.begin(type, i);
    put(out, facts[i]);
  }
}

}  // namespace

TraceFacts::Chunks TraceFacts::first(const TraceProcess& process,
                                     const std::vector<std::string>& functions) {
  FactWriter out;
  out.begin(FactType::process, 0);
  out.number(static_cast<std::uint64_t>(process.pid));
  out.text(process.executable);
  out.text(process.mode);
  out.text(process.tool_version);
  out.number(process.wall_ns);
  out.number(process.clock_ns);
  put_all(out, FactType::function, functions, 0);
  return out.take();
}

// Modules may have moved and threads may have been renamed, so all of them are written again.
TraceFacts::Chunks TraceFacts::settings(const TraceProcess& process) {
  if (process.settings.empty()) return {};
  std::string content;
  std::byte bytes[kMostNumberBytes];
  const auto number = [&](std::uint64_t value) {
    content.append(reinterpret_cast<const char*>(bytes),
                   static_cast<std::size_t>(put_number(bytes, value) - bytes));
  };
  number(process.host_bytes);
  for (const auto& [name, value] : process.settings) {
    for (const std::string& text : {name, value}) {
      number(text.size());
      content += text;
    }
  }
  return {content};
}

TraceFacts::Chunks TraceFacts::next(const RecorderFacts& names) {
  FactWriter out;
  put_all(out, FactType::module, names.modules, 0);
  put_new(out, FactType::source, names.sources, sources_);
  put_new(out, FactType::code, names.codes, codes_);
  put_all(out, FactType::frame, names.frames, known_.frames);
  put_all(out, FactType::site, names.sites, known_.sites);
  put_all(out, FactType::owner, names.owners, known_.owners);
  put_all(out, FactType::tag, names.tags, known_.tags);
  put_all(out, FactType::thread, names.threads, 0);
  for (std::size_t i = 0; i < names.streams.size(); ++i) put_stream(out, i, names.streams[i]);
  put_all(out, FactType::range, names.ranges, 0);
  for (std::size_t i = 0; i < names.ranges.size(); ++i) put_passes(out, i, names.ranges[i]);
  Chunks chunks = out.take();
  sources_ = std::max(sources_, names.sources.size());
  codes_ = std::max(codes_, names.codes.size());
  known_.frames += names.frames.size();
  known_.sites += names.sites.size();
  known_.owners += names.owners.size();
  known_.tags += names.tags.size();
  return chunks;
}

TraceFacts::Chunks TraceFacts::next_marks(const RecorderFacts& names) {
  FactWriter out;
  put_new(out, FactType{}, names.marks, marks_);
  marks_ = std::max(marks_, names.marks.size());
  return out.take();
}

TraceFacts::Chunks TraceFacts::repeated_marks(const RecorderFacts& names) {
  FactWriter out;
  put_all(out, FactType{}, names.repeated_marks, 0);
  return out.take();
}

std::string trace_mark(std::uint64_t events, std::uint64_t lost) {
  std::byte bytes[2 * kMostNumberBytes];
  const std::byte* const end = put_number(put_number(bytes, events), lost);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(end - bytes)};
}

}  // namespace vramscope
