// LeakHolder is a process's part of memory that was never freed. LeakHolders finds the processes
// that hold a leak.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/left_memory.h"
#include "reporter/view/analysis/report_figures.h"

namespace vramscope {

struct LeakHolder {
  const ProcessFacts* process = nullptr;  // points into a report, which outlives this
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;                     // allocations
  std::optional<std::uint64_t> at_least = {};  // if `bytes` is the most that it can be
  std::optional<std::uint64_t> tenths = {};    // LiveShare::tenths
  std::string death = {};  // "killed", "died": it might have freed it; "": it ended normally
};

void put_most_first(std::vector<LeakHolder>& holders);
// Returns whether a process's share has the place, kind and device of `share`.
[[nodiscard]] bool is_of(const LiveShare& live, const Share& share);

// Finds the processes of a merged report that hold a place's memory. The report and the shares of
// its processes outlive this object. Threads: any, after construction, which may throw bad_alloc.
class LeakHolders {
 public:
  LeakHolders(const Report& report, const LeftShares& shares);
  // Returns the holders, the largest first. Returns none if the report is of one process or lacks
  // the data (an earlier version merged it, or the place is not among the largest of any process).
  // May throw bad_alloc.
  [[nodiscard]] std::vector<LeakHolder> of(const Share& share) const;

 private:
  struct Entry {
    const MergedProcess* process;
    const LiveShare* live;
  };
  std::unordered_map<std::int64_t, std::vector<Entry>> by_site_;  // in the order of processes
};

}  // namespace vramscope
