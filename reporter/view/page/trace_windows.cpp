// Adds a trace up part by part.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/trace_windows.h"

#include <algorithm>
#include <bit>

#include "reporter/report/merge_numbers.h"
#include "reporter/view/analysis/site_growth.h"
#include "reporter/view/text/sites_text.h"

namespace vramscope {
namespace {

// Of the numbers of a change.
enum Number : std::size_t { kMostBytes, kMostCount, kLiveBytes, kLiveCount, kBytes, kCount, kTime };

void count(std::vector<std::uint64_t>& counts, std::size_t entry) {
  if (counts.size() <= entry) counts.resize(entry + 1);
  ++counts[entry];
}

void write_numbers(JsonText& json, const std::vector<std::uint64_t>& numbers) {
  json.array();
  for (const std::uint64_t number : numbers) json.value(number);
  json.end();
}

}  // namespace

TraceWindows::TraceWindows(std::uint64_t first_ns, std::uint64_t last_ns, TracePlace memory,
                           const TraceFilter& filter, std::function<std::size_t(Tag)> site_of)
    : first_ns_(first_ns),
      part_ns_((last_ns - first_ns) / kParts + 1),
      memory_of_(memory),
      filter_(filter),
      site_of_(std::move(site_of)),
      sizes_(kParts),
      lives_(kParts) {}

// Times never go back, also where threads overlapped.
void TraceWindows::add(const TraceEvent& one) {
  const Event& event = one.event;
  now_ = std::max(now_, after(first_ns_, event.start_ns));
  advance(std::min<std::size_t>(now_ / part_ns_, kParts - 1));
  ++events_;
  memory_.add(one, *this);
  const bool is_call = one.what <= trace::What::went && event.tag != 0 &&
                       filter_.passes(event.tag, event.place, event.bytes);
  if (is_call && is_allocating(event.effect)) {
    touch(event.tag, event.place).numbers[kTime] += event.total_ns;
  }
}

void TraceWindows::finish() {
  advance(kParts - 1);
  end_part();
}

// What it held at the present highest of its memory is put aside before its first change after it.
TraceWindows::Row& TraceWindows::touch(Tag tag, Place place) {
  const Where where{place.kind, has_device(place.kind) ? place.device : std::uint16_t{0}};
  Row& row = rows_[{site_of_(tag), where}];
  if (row.memory == nullptr) row.memory = &memories_[where];
  if (!row.is_changed) changed_.push_back(&row);
  row.is_changed = true;
  if (row.number != row.memory->number) {
    row.number = row.memory->number;
    row.numbers[kMostBytes] = row.numbers[kLiveBytes];
    row.numbers[kMostCount] = row.numbers[kLiveCount];
  }
  return row;
}

void TraceWindows::came(const TraceBlock& block, const Event&) {
  if (left_out_.size() <= block.slot) left_out_.resize(block.slot + std::size_t{1});
  left_out_[block.slot] = !filter_.passes(block.tag, block.place, block.bytes);
  if (left_out_[block.slot]) return;
  if (born_.size() <= block.slot) born_.resize(block.slot + std::size_t{1});
  born_[block.slot] = now_;
  count(sizes_[part_], static_cast<std::size_t>(std::bit_width(block.bytes)));
  Row& row = touch(block.tag, block.place);
  row.numbers[kLiveBytes] += block.bytes;
  ++row.numbers[kLiveCount];
  row.numbers[kBytes] += block.bytes;
  ++row.numbers[kCount];
  Memory& memory = *row.memory;
  memory.live_bytes += block.bytes;
  if (memory.live_bytes <= memory.highest_bytes) return;
  memory.highest_bytes = memory.live_bytes;
  ++memory.number;
  if (&memory == &memories_[memory_of_]) instants_[part_] = {memory.live_bytes, events_};
}

void TraceWindows::went(const TraceBlock& block, TraceMemory::End how) {
  if (left_out_[block.slot]) return;
  if (how == TraceMemory::End::freed)
    count(lives_[part_], lifetime_decade(now_ - born_[block.slot]));
  Row& row = touch(block.tag, block.place);
  row.numbers[kLiveBytes] -= block.bytes;
  --row.numbers[kLiveCount];
  row.memory->live_bytes -= block.bytes;
}

void TraceWindows::advance(std::uint64_t part) {
  if (part <= part_) return;
  end_part();
  for (auto& [where, memory] : memories_) memory.highest.resize(part, memory.live_bytes);
  const std::uint64_t held = memories_[memory_of_].live_bytes;
  while (part_ < part) instants_[++part_] = {held, events_};
}

// Of each row that changed, what it held when its memory held most, and at the end.
void TraceWindows::end_part() {
  for (Row* const row : changed_) {
    if (row->number != row->memory->number) {
      row->numbers[kMostBytes] = row->numbers[kLiveBytes];
      row->numbers[kMostCount] = row->numbers[kLiveCount];
    }
    row->changes.push_back({.part = part_, .numbers = row->numbers});
    row->is_changed = false;
    row->numbers[kBytes] = row->numbers[kCount] = row->numbers[kTime] = 0;
  }
  changed_.clear();
  for (auto& [where, memory] : memories_) {
    memory.highest.resize(part_);  // parts before its first allocation: nothing
    memory.highest.push_back(memory.highest_bytes);
    memory.highest_bytes = memory.live_bytes;
    ++memory.number;
  }
}

std::vector<std::uint64_t> TraceWindows::sum_of(
    const std::vector<std::vector<std::uint64_t>>& parts) {
  std::vector<std::uint64_t> sums;
  for (const std::vector<std::uint64_t>& counts : parts) {
    add_numbers(sums, counts);
  }
  return sums;
}

// A row that did not change in a part holds what it held before.
void TraceWindows::add_up(std::vector<Change>& sum, const std::vector<Change>& more) {
  std::vector<Change> result;
  auto a = sum.cbegin();
  auto b = more.cbegin();
  Numbers last_a{};
  Numbers last_b{};
  const auto step = [](auto& at, const auto& end, std::size_t part, Numbers& last) {
    last[kMostBytes] = last[kLiveBytes];
    last[kMostCount] = last[kLiveCount];
    last[kBytes] = last[kCount] = last[kTime] = 0;
    if (at != end && at->part == part) last = (at++)->numbers;
  };
  while (a != sum.cend() || b != more.cend()) {
    const std::size_t part =
        std::min(a == sum.cend() ? kParts : a->part, b == more.cend() ? kParts : b->part);
    step(a, sum.cend(), part, last_a);
    step(b, more.cend(), part, last_b);
    Change& change = result.emplace_back(Change{.part = part});
    for (std::size_t i = 0; i < change.numbers.size(); ++i)
      change.numbers[i] = last_a[i] + last_b[i];
  }
  sum = std::move(result);
}

void TraceWindows::write(JsonText& json, const PageSites& sites) const {
  const auto write_changes = [&](const std::vector<Change>& changes) {
    json.array();
    for (const Change& change : changes) {
      json.value(change.part);
      for (const std::uint64_t number : change.numbers) json.value(number);
    }
    json.end();
  };
  const auto where_of = [&](const PageRow& row) {
    const MemoryOnPage& memory = sites.memory[row.memory];
    return Where{memory.kind, memory.device};
  };
  std::map<std::pair<std::size_t, Where>, bool> shown;
  json.key("windows").object().field("part_ns", part_ns_).key("highest").array();
  for (const MemoryOnPage& memory : sites.memory) {
    write_numbers(json, memories_.at({memory.kind, memory.device}).highest);
  }
  json.end().key("rows").array();
  for (const PageRow& row : sites.rows) {
    const auto found = rows_.find({row.site, where_of(row)});
    shown[{row.site, where_of(row)}] = true;
    write_changes(found == rows_.end() ? std::vector<Change>() : found->second.changes);
  }
  std::map<Where, std::vector<Change>> others;
  for (const auto& [key, row] : rows_) {
    if (!shown.contains(key)) add_up(others[key.second], row.changes);
  }
  json.end().key("others").array();
  for (const PageRow& row : sites.others) write_changes(others[where_of(row)]);
  json.end().key("sizes").array();
  for (const auto& counts : sizes_) write_numbers(json, counts);
  json.end().key("lives").array();
  for (const auto& counts : lives_) write_numbers(json, counts);
  json.end().end();
}

}  // namespace vramscope
