// Places of all reports, told apart by the names of their call stacks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leaks_of_several.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/holders_text.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {

void LeaksOfSeveral::add(Process&& process) {
  const auto same = std::find_if(processes_.begin(), processes_.end(), [&](const Process& known) {
    return process.process.pid != 0 && identity_of(known.process) == identity_of(process.process);
  });
  if (same == processes_.end()) {
    processes_.push_back(std::move(process));
  } else if (same->sequence <= process.sequence) {
    *same = std::move(process);
  }
}

void LeaksOfSeveral::add(const Report& report, const Leaks& leaks, const NameFrame& name) {
  if (is_of_several(report)) return add_merged(report, leaks, name);
  const MergedProcess one = merged_processes(report).front();
  Process process{
      .process = one.process, .death = death_word(one), .sequence = one.sequence, .places = {}};
  std::vector<Leak> largest = leaks.leaks;
  for (const Leak& leak : largest) process.left += leak.share.bytes;
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Leak& a, const Leak& b) { return a.share.bytes > b.share.bytes; });
  largest.resize(std::min(largest.size(), kMostLive));
  for (const Leak& leak : largest) process.places.push_back(row_of(report, leak, name));
  add(std::move(process));
}

// Of what earlier versions merged nothing is known.
void LeaksOfSeveral::add_merged(const Report& report, const Leaks& leaks, const NameFrame& name) {
  using Key = std::tuple<std::int64_t, Kind, std::uint16_t>;
  std::map<Key, LeakClass> leaked;
  for (const Leak& leak : leaks.leaks) {
    const Share& share = leak.share;
    leaked.emplace(Key(share.site, share.kind, share.device), leak.looks);
  }
  for (std::size_t i = 0; i < leaks.left.size(); ++i) {
    const MergedProcess& one = report.processes[i];
    Process process{.process = one.process,
                    .death = death_word(one),
                    .sequence = one.sequence,
                    .left = leaks.left[i],
                    .places = {}};
    for (const LiveShare& live : one.live) {
      const auto found = leaked.find(Key(live.site, live.kind, live.device));
      if (found == leaked.end()) continue;
      const Share share{.site = static_cast<std::size_t>(live.site),
                        .kind = live.kind,
                        .device = live.device,
                        .bytes = live.live_bytes,
                        .count = live.live_count};
      process.places.push_back(row_of(report, {.share = share, .looks = found->second}, name));
    }
    add(std::move(process));
  }
}

std::vector<LeakRow> LeaksOfSeveral::rows() const {
  std::map<std::pair<std::string, std::vector<std::string>>, LeakRow> by_place;
  for (const Process& process : processes_) {
    for (const LeakRow& place : process.places) {
      const LeakRow empty{.memory = place.memory, .frames = place.frames, .looks = place.looks};
      LeakRow& row = by_place.try_emplace({place.memory, place.frames}, empty).first->second;
      row.looks = std::min(row.looks, place.looks);
      row.bytes += place.bytes;
      row.count += place.count;
      const bool is_new = row.holders.empty() || row.holders.back().process != &process.process;
      if (is_new) {
        row.holders.push_back({.process = &process.process, .death = process.death});
      }
      row.holders.back().bytes += place.bytes;
    }
  }
  std::vector<LeakRow> rows;
  for (auto& [key, row] : by_place) {
    put_most_first(row.holders);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string LeaksOfSeveral::text(const Page& page, std::size_t most) const {
  std::vector<LeakHolder> all;
  for (const Process& process : processes_) {
    all.push_back({.process = &process.process, .bytes = process.left, .death = process.death});
  }
  const auto leaking =
      std::count_if(all.begin(), all.end(), [](const LeakHolder& one) { return one.bytes != 0; });
  const std::string spread = spread_text(std::move(all), page);
  if (spread.empty() || leaking < 2) return "";  // what one left follows
  return coloured("What the processes left", Colour::bold, page) + "\n" + spread +
         leak_rows_text(rows(), processes_.size(), page, most);
}

}  // namespace vramscope
