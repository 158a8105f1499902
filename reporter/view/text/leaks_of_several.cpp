// Places of all reports, told apart by the names of their call stacks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leaks_of_several.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/site_listing.h"

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
  std::vector<std::vector<std::string>> stacks;
  for (std::size_t i = 0; i < shown; ++i) {
    const Row& row = all[i];
    const bool are_equal = row.holders.size() == processes_.size() &&
                           row.holders.front().bytes == row.holders.back().bytes;
    table.add({amount_text(row.bytes), count_text(static_cast<std::int64_t>(row.count)),
               of_processes(row.holders.size(), processes_.size()),
               amount_text(row.holders.front().bytes),
               are_equal ? "each" : who_text(row.holders.front()), row.place->memory});
    stacks.push_back(row.place->frames);
  }
  table.fill_last(page, [&](std::size_t room) { return stack_texts(stacks, room); });
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
