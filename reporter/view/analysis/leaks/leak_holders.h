// LeakHolder is a process's part of what was never freed; the functions here say whose a leak is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"

namespace vramscope {

struct LeakHolder {
  const ProcessFacts* process = nullptr;  // of a report, which outlives this
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // allocations
  std::string death = {};   // "killed", "died": it may have freed it; "": it ended by itself
};

void put_most_first(std::vector<LeakHolder>& holders);
// Whether what a process holds is of the place, kind and device of the share.
[[nodiscard]] bool is_of(const LiveShare& live, const Share& share);

// Tells of a merged report which processes hold a place's memory. The report outlives it. Threads:
// any, once it is made, which may throw bad_alloc.
class LeakHolders {
 public:
  explicit LeakHolders(const Report& report);
  // The largest first. Empty: the report is of one process, or does not tell (earlier versions
  // merged it, or the place is none of any process's largest). May throw bad_alloc.
  [[nodiscard]] std::vector<LeakHolder> of(const Share& share) const;

 private:
  struct Entry {
    const MergedProcess* process;
    const LiveShare* live;
  };
  std::unordered_map<std::int64_t, std::vector<Entry>> by_site_;  // in the order of processes
};

}  // namespace vramscope
