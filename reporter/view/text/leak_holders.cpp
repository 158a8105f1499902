// Whose the leaks of several processes are.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leak_holders.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/view/text/ranks_text.h"
#include "reporter/view/text/site_listing.h"

namespace vramscope {
namespace {

bool is_of(const LiveShare& live, const Share& share) {
  return live.site >= 0 && static_cast<std::size_t>(live.site) == share.site &&
         live.kind == share.kind && live.device == share.device;
}

void put_most_first(std::vector<LeakHolder>& holders) {
  std::stable_sort(holders.begin(), holders.end(),
                   [](const LeakHolder& a, const LeakHolder& b) { return a.bytes > b.bytes; });
}

std::string of_processes(std::size_t some, std::size_t all) {
  return count_text(static_cast<std::int64_t>(some)) + " of " +
         count_text(static_cast<std::int64_t>(all));
}

std::uint64_t sum_of(const std::vector<LeakHolder>& holders) {
  return std::accumulate(
      holders.begin(), holders.end(), std::uint64_t{0},
      [](std::uint64_t sum, const LeakHolder& holder) { return sum + holder.bytes; });
}

// "rank 3 (4711)", "rank 3 (4711) (killed)".
std::string who_text(const LeakHolder& holder) {
  return process_text(*holder.process) + (holder.death.empty() ? "" : " (" + holder.death + ")");
}

// "rank 0 (4708) 2.00 MiB, rank 1 (4709) 1.00 MiB".
std::string each_text(const std::vector<LeakHolder>& holders) {
  std::string text;
  for (const LeakHolder& holder : holders) {
    text += (text.empty() ? "" : ", ") + who_text(holder) + " " + amount_text(holder.bytes);
  }
  return text;
}

}  // namespace

std::string death_word(const MergedProcess& process) {
  if (death_text(process).empty()) return "";
  return process.process.ended_by.empty() ? "died" : "killed";
}

LeakHolders::LeakHolders(const Report& report) {
  for (const MergedProcess& process : report.processes) {
    for (const LiveShare& live : process.live) {
      if (live.site >= 0) by_site_[live.site].push_back({&process, &live});
    }
  }
}

std::vector<LeakHolder> LeakHolders::of(const Share& share) const {
  std::vector<LeakHolder> holders;
  const auto found = by_site_.find(static_cast<std::int64_t>(share.site));
  if (found == by_site_.end()) return holders;
  for (const Entry& entry : found->second) {
    if (!is_of(*entry.live, share)) continue;
    const bool is_new = holders.empty() || holders.back().process != &entry.process->process;
    if (is_new) {
      holders.push_back({.process = &entry.process->process, .death = death_word(*entry.process)});
    }
    holders.back().bytes += entry.live->live_bytes;
    holders.back().count += entry.live->live_count;
  }
  put_most_first(holders);
  return holders;
}

std::string holders_text(const std::vector<LeakHolder>& holders, std::size_t processes,
                         std::uint64_t bytes) {
  constexpr std::size_t kNamed = 3;
  if (holders.empty() || processes < 2) return "";
  const bool are_all = sum_of(holders) >= bytes;
  if (holders.size() == 1 && are_all) return ", in " + who_text(holders[0]) + " alone";
  const std::uint64_t most = holders.front().bytes;
  const std::uint64_t least = holders.back().bytes;
  if (holders.size() == processes && most == least) {
    return ", " + amount_text(most) + " in each of " +
           count_text(static_cast<std::int64_t>(processes)) + " processes";
  }
  std::string text = ", in " + of_processes(holders.size(), processes) + " processes";
  if (!are_all) text += " or more";
  if (holders.size() <= kNamed) return text + ": " + each_text(holders);
  if (most == least) return text + ", " + amount_text(most) + " each";
  return text + ", " + amount_text(least) + " to " + amount_text(most) + ", most in " +
         who_text(holders.front());
}

std::string spread_text(std::vector<LeakHolder> processes, const Page& page) {
  if (processes.size() < 2 || sum_of(processes) == 0) return "";
  put_most_first(processes);
  const LeakHolder& most = processes.front();
  const std::uint64_t least = processes.back().bytes;
  std::string text = count_text(static_cast<std::int64_t>(processes.size())) + " processes left ";
  if (most.bytes == least) return paragraph(text + amount_text(least) + " each", page);
  const std::uint64_t median = processes[processes.size() / 2].bytes;  // the lower one of two
  return paragraph(text + amount_text(least) + " to " + amount_text(most.bytes) + " each, median " +
                       amount_text(median) + ", most in " + who_text(most),
                   page);
}

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

LeaksOfSeveral::Place LeaksOfSeveral::place_of(const Report& report, const Share& share,
                                               const NameFrame& name) {
  Place place{.memory = memory_text(share.kind, share.device),
              .frames = {},
              .bytes = share.bytes,
              .count = share.count};
  const Site& site = report.sites[share.site];
  for (const Caller& caller : call_site(report, site, name, kAllFrames).callers) {
    place.frames.push_back(vramscope::text(caller));
  }
  return place;
}

void LeaksOfSeveral::add(const Report& report, const Leaks& leaks, const NameFrame& name) {
  if (report.processes.size() > 1) return add_merged(report, leaks, name);
  const MergedProcess one = merged_processes(report).front();
  Process process{
      .process = one.process, .death = death_word(one), .sequence = one.sequence, .places = {}};
  std::vector<Share> shares;
  for (const Leak& leak : leaks.leaks) {
    process.left += leak.share.bytes;
    shares.push_back(leak.share);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  shares.resize(std::min(shares.size(), kMostLive));
  for (const Share& share : shares) process.places.push_back(place_of(report, share, name));
  add(std::move(process));
}

// Of what earlier versions merged nothing is known.
void LeaksOfSeveral::add_merged(const Report& report, const Leaks& leaks, const NameFrame& name) {
  using Key = std::tuple<std::int64_t, Kind, std::uint16_t>;
  std::set<Key> leaked;
  for (const Leak& leak : leaks.leaks) {
    const Share& share = leak.share;
    leaked.emplace(static_cast<std::int64_t>(share.site), share.kind, share.device);
  }
  for (std::size_t i = 0; i < leaks.left.size(); ++i) {
    const MergedProcess& one = report.processes[i];
    Process process{.process = one.process,
                    .death = death_word(one),
                    .sequence = one.sequence,
                    .left = leaks.left[i],
                    .places = {}};
    for (const LiveShare& live : one.live) {
      if (!leaked.contains(Key(live.site, live.kind, live.device))) continue;
      const Share share{.site = static_cast<std::size_t>(live.site),
                        .kind = live.kind,
                        .device = live.device,
                        .bytes = live.live_bytes,
                        .count = live.live_count};
      process.places.push_back(place_of(report, share, name));
    }
    add(std::move(process));
  }
}

std::vector<LeaksOfSeveral::Row> LeaksOfSeveral::rows() const {
  std::map<std::pair<std::string, std::vector<std::string>>, Row> by_place;
  for (const Process& process : processes_) {
    for (const Place& place : process.places) {
      Row& row = by_place[{place.memory, place.frames}];
      row.place = &place;
      row.bytes += place.bytes;
      row.count += place.count;
      const bool is_new = row.holders.empty() || row.holders.back().process != &process.process;
      if (is_new) {
        row.holders.push_back({.process = &process.process, .death = process.death});
      }
      row.holders.back().bytes += place.bytes;
    }
  }
  std::vector<Row> sorted;
  for (auto& [key, row] : by_place) {
    put_most_first(row.holders);
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  return sorted;
}

std::string LeaksOfSeveral::table(const Page& page, std::size_t most) const {
  using enum Table::Align;
  Table table({{"BYTES", right},
               {"COUNT", right, 3},
               {"PROCESSES", right},
               {"MOST", right, 1},
               {"MOST IN", left},
               {"MEMORY", left},
               {"WHERE", left}});
  table.place_last(Table::Last::below);
  const std::vector<Row> all = rows();
  const std::size_t shown = rows_shown(all.size(), most);
  std::size_t widest = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    widest = std::max(widest, columns(frames_text(all[i].place->frames)));
  }
  table.keep_room(widest);
  for (std::size_t i = 0; i < shown; ++i) {
    const Row& row = all[i];
    const bool are_equal = row.holders.size() == processes_.size() &&
                           row.holders.front().bytes == row.holders.back().bytes;
    table.add({amount_text(row.bytes), count_text(static_cast<std::int64_t>(row.count)),
               of_processes(row.holders.size(), processes_.size()),
               amount_text(row.holders.front().bytes),
               are_equal ? "each" : who_text(row.holders.front()), row.place->memory,
               printable(frames_text(row.place->frames), page)});
  }
  std::string text = table.text(page);
  if (shown < all.size()) {
    text += "  and " + counted(all.size() - shown, "more place") + " (-n 0 for all)\n";
  }
  return text + table.left_out(page);
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
         table(page, most);
}

}  // namespace vramscope
