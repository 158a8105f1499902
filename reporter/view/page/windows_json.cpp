// What each part of a trace comes to, as a page reads it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/windows_json.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace vramscope {
namespace {

using Changes = std::vector<TraceWindows::Change>;

void write_numbers(JsonText& json, const std::vector<std::uint64_t>& numbers) {
  json.array();
  for (const std::uint64_t number : numbers) json.value(number);
  json.end();
}

// A row that did not change in a part holds what it held before.
void add_up(Changes& sum, const Changes& more) {
  Changes result;
  auto a = sum.cbegin();
  auto b = more.cbegin();
  TraceWindows::Numbers last_a{};
  TraceWindows::Numbers last_b{};
  const auto step = [](auto& at, const auto& end, std::size_t part, TraceWindows::Numbers& last) {
    last[TraceWindows::kMostBytes] = last[TraceWindows::kLiveBytes];
    last[TraceWindows::kMostCount] = last[TraceWindows::kLiveCount];
    last[TraceWindows::kBytes] = last[TraceWindows::kCount] = last[TraceWindows::kTime] = 0;
    if (at != end && at->part == part) last = (at++)->numbers;
  };
  while (a != sum.cend() || b != more.cend()) {
    const std::size_t part = std::min(a == sum.cend() ? TraceWindows::kParts : a->part,
                                      b == more.cend() ? TraceWindows::kParts : b->part);
    step(a, sum.cend(), part, last_a);
    step(b, more.cend(), part, last_b);
    TraceWindows::Change& change = result.emplace_back(TraceWindows::Change{.part = part});
    for (std::size_t i = 0; i < change.numbers.size(); ++i)
      change.numbers[i] = last_a[i] + last_b[i];
  }
  sum = std::move(result);
}

}  // namespace

void write_windows(JsonText& json, const TraceWindows& windows, const PageSites& sites) {
  const auto write_changes = [&](const Changes& changes) {
    json.array();
    for (const TraceWindows::Change& change : changes) {
      json.value(change.part);
      for (const std::uint64_t number : change.numbers) json.value(number);
    }
    json.end();
  };
  const auto where_of = [&](const PageRow& row) {
    const MemoryOnPage& memory = sites.memory[row.memory];
    return TracePlace{memory.kind, memory.device};
  };
  std::map<std::pair<std::size_t, TracePlace>, bool> shown;
  json.key("windows").object().field("part_ns", windows.part_ns()).key("highest").array();
  for (const MemoryOnPage& memory : sites.memory) {
    write_numbers(json, windows.memories().at({memory.kind, memory.device}).highest);
  }
  json.end().key("rows").array();
  for (const PageRow& row : sites.rows) {
    const auto found = windows.rows().find({row.site, where_of(row)});
    shown[{row.site, where_of(row)}] = true;
    write_changes(found == windows.rows().end() ? Changes() : found->second.changes);
  }
  std::map<TracePlace, Changes> others;
  for (const auto& [key, row] : windows.rows()) {
    if (!shown.contains(key)) add_up(others[key.second], row.changes);
  }
  json.end().key("others").array();
  for (const PageRow& row : sites.others) write_changes(others[where_of(row)]);
  json.end().key("sizes").array();
  for (const auto& counts : windows.sizes()) write_numbers(json, counts);
  json.end().key("lives").array();
  for (const auto& counts : windows.lives()) write_numbers(json, counts);
  json.end().end();
}

}  // namespace vramscope
