// Appends facts, and then makes them count by one store of their total length.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/live_names.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "allocator/base/fault.h"
#include "allocator/base/machine.h"

namespace vramscope {

namespace {

constexpr std::uint64_t kMostTags = std::uint64_t{1} << 20;  // Recorder::kMaxTags
constexpr std::size_t kLeastStep = kWholePage;  // of the file, whose pages are allocated one by one
constexpr std::size_t kMostStep = std::size_t{1} << 20;
constexpr auto kNames = static_cast<std::size_t>(LivePart::names);

template <class Fact>
void put_changed(FactWriter& out, FactType type, const Numbered<Fact>& facts) {
  for (const auto& [number, fact] : facts) {
    out.begin(type, number);
    put(out, fact);
  }
}

void put_groups(FactWriter& out, const Rows<TagFact>& tags, std::size_t first) {
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const TagFact tag = tags[i];
    out.begin(static_cast<FactType>(LiveFact::tag_groups), first + i);
    out.number(static_cast<std::uint64_t>(tag.sampling));
    for (const Group group : tag.groups) out.number(group);
  }
}

// A fact is written after the facts that it refers to.
FactWriter::Chunks chunks_of(const NewNames& names, const ToldNames& told) {
  FactWriter out;
  put_changed(out, FactType::module, names.modules);
  put_all(out, FactType::source, names.facts.sources, told.sources);
  put_all(out, FactType::code, names.facts.codes, told.codes);
  put_all(out, FactType::frame, names.facts.frames, told.known.frames);
  put_all(out, FactType::site, names.facts.sites, told.known.sites);
  put_all(out, FactType::owner, names.facts.owners, told.known.owners);
  put_changed(out, FactType::thread, names.threads);
  for (const auto& [number, stream] : names.streams) put_stream(out, number, stream);
  put_all(out, FactType::range, names.facts.ranges, told.ranges);
  put_all(out, FactType::tag, names.facts.tags, told.known.tags);
  put_groups(out, names.facts.tags, told.known.tags);
  put_all(out, static_cast<FactType>(LiveFact::warning), names.facts.warnings, told.warnings);
  put_all(out, static_cast<FactType>(LiveFact::mark), names.facts.marks, told.marks);
  return out.take();
}

void advance(ToldNames& told, const NewNames& names) {
  told.known.frames += names.facts.frames.size();
  told.known.sites += names.facts.sites.size();
  told.known.owners += names.facts.owners.size();
  told.known.tags += names.facts.tags.size();
  told.sources += names.facts.sources.size();
  told.codes += names.facts.codes.size();
  told.ranges += names.facts.ranges.size();
  told.marks += names.facts.marks.size();
  told.warnings += names.facts.warnings.size();
  told.changes = names.changes;
}

}  // namespace

// Names beyond the end of the file would be lost with the process, so the file is full then.
bool LiveNames::make_room(std::size_t bytes) {
  if (bytes > most_bytes_) return false;
  if (bytes <= room_) return true;
  const std::size_t step = std::clamp(room_, kLeastStep, kMostStep);
  const std::size_t wanted = (std::max(bytes, room_ + step) + kLeastStep - 1) & ~(kLeastStep - 1);
  void* const first = live_->grow(LivePart::names, room_, wanted);
  if (first == nullptr) return false;
  first_ = static_cast<char*>(first);
  room_ = wanted;
  return live_->header()->bytes[kNames].load(std::memory_order_relaxed) >= bytes;
}

void LiveNames::write(const FactWriter::Chunks& chunks) {
  const std::size_t begin = root_.bytes.load(std::memory_order_relaxed);
  std::size_t end = begin;
  for (const std::string& chunk : chunks) end += chunk.size();
  if (end == begin || root_.is_full.load(std::memory_order_relaxed) != 0) return;
  if (!make_room(end)) {
    root_.is_full.store(1, std::memory_order_relaxed);
    return;
  }
  if (fault(Fault::names_committed_early)) {
    root_.bytes.store(end, std::memory_order_release);
    sched_yield();  // gives a kill the time to hit this state
  }
  std::size_t at = begin;
  for (const std::string& chunk : chunks) {
    std::memcpy(first_ + at, chunk.data(), chunk.size());
    at += chunk.size();
  }
  root_.bytes.store(end, std::memory_order_release);
}

void LiveNames::append(const NewNames& names) {
  write(chunks_of(names, told_));
  advance(told_, names);
  root_.tags.store(static_cast<std::uint32_t>(told_.known.tags), std::memory_order_relaxed);
}

namespace {

void get_groups(TraceBytes& bytes, std::vector<TagFact>& tags) {
  const std::uint32_t tag = bytes.below(tags.size());
  const auto sampling = static_cast<Sampling>(bytes.below(3));
  Groups groups{};
  for (Group& group : groups) group = bytes.below(std::uint64_t{1} << 32);
  if (bytes.bad()) return;
  tags[tag].sampling = sampling;
  tags[tag].groups = groups;
}

void get_warning(TraceBytes& bytes, std::vector<std::string>& warnings) {
  const std::uint64_t number = bytes.number();
  const std::string_view text = bytes.text();
  if (number != warnings.size() || text.size() > kLongestText) return bytes.fail();
  warnings.emplace_back(text);
}

void get_any(TraceBytes& bytes, TraceNames& names) {
  const std::uint8_t type = bytes.byte();
  switch (static_cast<LiveFact>(type)) {
    case LiveFact::tag_groups:
      return get_groups(bytes, names.facts.tags.own());
    case LiveFact::warning:
      return get_warning(bytes, names.facts.warnings);
    case LiveFact::mark:
      return get_mark(bytes, names.facts.marks);
  }
  static_cast<void>(get_fact(static_cast<FactType>(type), bytes, 0, names));
}

}  // namespace

FoundNames read_live_names(const LiveHeader& header, const LiveNames::Root& root) {
  const std::uint64_t told = root.bytes.load(std::memory_order_acquire);
  const std::uint64_t there = header.bytes[kNames].load(std::memory_order_acquire);
  if (told > kLivePartBytes || there > kLivePartBytes) {
    throw std::runtime_error("the recorder's names exceed their part of the file");
  }
  FoundNames found;
  found.is_cut = told > there || root.is_full.load(std::memory_order_relaxed) != 0;
  const auto* const first =
      reinterpret_cast<const std::byte*>(header.base + kNames * kLivePartBytes);
  TraceBytes bytes(std::span(first, std::min(told, there)));
  TraceNames names;
  while (!bytes.empty()) get_any(bytes, names);
  if (bytes.bad() && told <= there) {
    throw std::runtime_error("the names of the recorder are damaged");
  }
  close_trace_names(names);
  found.facts = std::move(names.facts);
  found.facts.tags.own().resize(std::max<std::size_t>(
      found.facts.tags.size(), std::min<std::uint64_t>(kMostTags, root.tags.load())));
  return found;
}

}  // namespace vramscope
