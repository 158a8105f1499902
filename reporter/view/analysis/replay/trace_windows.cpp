// Adds a trace up part by part.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_windows.h"

#include <algorithm>
#include <bit>

#include "reporter/view/analysis/site_growth.h"

namespace vramscope {

TraceWindows::TraceWindows(std::uint64_t length_ns, TracePlace memory,
                           std::function<std::size_t(Tag)> site_of)
    : part_ns_(length_ns / kParts + 1),
      memory_of_(memory),
      site_of_(std::move(site_of)),
      sizes_(kParts),
      lives_(kParts) {}

void TraceWindows::event(const FollowedEvent& now) {
  advance(std::min<std::size_t>(now.at_ns / part_ns_, kParts - 1));
  events_ = now.number;
  const Event& event = now.one.event;
  const bool is_call = now.passes && now.one.what <= trace::What::went && event.tag != 0;
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
  const TracePlace where = place_of(place);
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

void TraceWindows::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!block.passes) return;
  if (born_.size() <= block.slot) born_.resize(block.slot + std::size_t{1});
  born_[block.slot] = now.at_ns;
  count_at(sizes_[part_], static_cast<std::size_t>(std::bit_width(block.bytes)));
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

void TraceWindows::went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End how) {
  if (!block.passes) return;
  if (how == TraceMemory::End::freed)
    count_at(lives_[part_], lifetime_decade(now.at_ns - born_[block.slot]));
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

}  // namespace vramscope
