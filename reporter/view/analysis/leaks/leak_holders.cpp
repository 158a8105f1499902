// Whose the leaks of several processes are.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/leak_holders.h"

#include <algorithm>
#include <numeric>

#include "reporter/view/analysis/subject.h"

namespace vramscope {

bool is_of(const LiveShare& live, const Share& share) {
  return live.site >= 0 && static_cast<std::size_t>(live.site) == share.site &&
         live.kind == share.kind && live.device == share.device;
}

void put_most_first(std::vector<LeakHolder>& holders) {
  std::stable_sort(holders.begin(), holders.end(),
                   [](const LeakHolder& a, const LeakHolder& b) { return a.bytes > b.bytes; });
}

LeakHolders::LeakHolders(const Report& report, const LeftShares& shares) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (const LiveShare& live : shares[i]) {
      by_site_[live.site].push_back({&report.processes[i], &live});
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
    holders.back().tenths = entry.live->tenths;
    holders.back().bytes += entry.live->live_bytes;
    holders.back().count += entry.live->live_count;
  }
  put_most_first(holders);
  return holders;
}

}  // namespace vramscope
