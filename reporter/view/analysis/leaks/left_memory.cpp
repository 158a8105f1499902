// Takes what stays by design out of each process's part of a place.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/left_memory.h"

#include <algorithm>

#include "allocator/base/place.h"
#include "reporter/view/analysis/leaks/kept_memory.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

bool is_its(const LiveShare& live, const SitePart& part) {
  return part.kind == live.kind && part.device == live.device && part.cache == live.cache;
}

// What all processes have at the place whose memory is of the same cache, or of none.
Share all_at(const Report& report, const LiveShare& live) {
  Share all{.site = static_cast<std::size_t>(live.site), .kind = live.kind, .device = live.device};
  const auto add = [&](const std::vector<SitePart>& parts) {
    for (const SitePart& part : parts) {
      if (!is_its(live, part)) continue;
      all.bytes += numbers_of(part).live_bytes;
      all.count += numbers_of(part).live_count;
    }
  };
  const Site& site = report.sites[all.site];
  if (site.whole.empty()) add(site.parts);
  for (const RecordedStack& stack : site.whole) add(stack.parts);
  return all;
}

std::uint64_t part_of(std::uint64_t number, std::uint64_t some, std::uint64_t all) {
  if (all == 0 || some >= all) return number;
  const double part = static_cast<double>(some) / static_cast<double>(all);
  return static_cast<std::uint64_t>(static_cast<double>(number) * part);
}

// The part that stays is taken to be the same in all processes.
LiveShare left_of(const Report& report, const LiveShare& live, KeptMemory& kept) {
  const Share all = all_at(report, live);
  Share stays;
  for (const KeptPart& part : kept.of(all, live.cache)) {
    stays.bytes += part.bytes;
    stays.count += part.count;
  }
  LiveShare left = live;
  left.live_bytes =
      part_of(live.live_bytes, all.bytes - std::min(all.bytes, stays.bytes), all.bytes);
  left.live_count =
      part_of(live.live_count, all.count - std::min(all.count, stays.count), all.count);
  return left;
}

// Earlier versions kept nothing of it.
bool tells_what_each_left(const Report& report) {
  const auto holds = [](const KindFacts& kind) {
    return holds_memory(kind.kind) && kind.current_bytes != 0;
  };
  return std::any_of(report.processes.begin(), report.processes.end(),
                     [](const MergedProcess& process) { return !process.live.empty(); }) ||
         std::none_of(report.kinds.begin(), report.kinds.end(), holds);
}

// Rows without a site are of all that a process has no row of its own for. If no other sites are in
// it, it is memory without a known stack, which nothing explains.
LeftBytes left_alone(const MergedProcess& process, const std::vector<LiveShare>& shares) {
  LeftBytes left;
  for (const LiveShare& share : shares) left.least += share.live_bytes;
  left.most = left.least;
  for (const LiveShare& live : process.live) {
    if (live.site >= 0) continue;
    if (live.live_count == 0) left.least += live.live_bytes;
    left.most += live.live_bytes;
  }
  return left;
}

// No process left more than all did, less what the others left at least; nor less than all did,
// less what they left at most.
void bound_by_all(std::vector<LeftBytes>& each, std::uint64_t all) {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  for (const LeftBytes& one : each) {
    least += one.least;
    most += one.most;
  }
  for (LeftBytes& one : each) {
    const std::uint64_t of_others = least - one.least;
    one.most = std::clamp(all - std::min(all, of_others), one.least, one.most);
  }
  most = 0;
  for (const LeftBytes& one : each) most += one.most;
  for (LeftBytes& one : each) {
    const std::uint64_t of_others = most - one.most;
    one.least = std::clamp(all - std::min(all, of_others), one.least, one.most);
  }
}

}  // namespace

LeftShares left_shares(const Report& report, KeptMemory& kept) {
  LeftShares all;
  for (const MergedProcess& process : report.processes) {
    std::vector<LiveShare>& left = all.emplace_back();
    for (const LiveShare& live : process.live) {
      if (live.site < 0) continue;
      const LiveShare one = left_of(report, live, kept);
      if (one.live_bytes != 0 || one.live_count != 0) left.push_back(one);
    }
  }
  return all;
}

std::vector<LeftBytes> left_by_each(const Report& report, const LeftShares& shares,
                                    std::uint64_t all) {
  std::vector<LeftBytes> each;
  if (!is_of_several(report) || !tells_what_each_left(report)) return each;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    each.push_back(left_alone(report.processes[i], shares[i]));
  }
  bound_by_all(each, all);
  return each;
}

}  // namespace vramscope
