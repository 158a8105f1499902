// caches_at_peak() returns what frameworks' caches held at the peak of each kind of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/framework_caches.h"

namespace vramscope {

struct CacheAtPeak {
  KindFacts kind;
  FrameworkCache cache;
  std::uint64_t bytes = 0;  // requested from CUDA, live or idle inside the cache
};

// Returns the kinds as kinds_by_peak() has them, and of each kind the largest cache first. Leaves
// out caches that have no idle memory. May throw bad_alloc.
[[nodiscard]] std::vector<CacheAtPeak> caches_at_peak(const Report& report, const NameFrame& name);

}  // namespace vramscope
