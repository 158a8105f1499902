// Reports of one site that never freed some of its allocations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "test/view/sample_report.h"

namespace vramscope {

inline constexpr std::uint64_t kMiB = 1 << 20;

// Site 0 holds `count` of `ever` allocations of 1 MiB, of these tenths of the run.
inline Report report_of(std::uint64_t count, std::uint64_t ever, std::vector<std::uint64_t> by_age,
                        std::vector<std::uint64_t> past = {}) {
  Report report = sample_report();
  Site& site = report.sites[0];
  site.totals.live_bytes = count * kMiB;
  site.totals.live_count = count;
  site.totals.total_count = ever;
  site.parts[0].totals = site.totals;
  site.live_by_age = std::move(by_age);
  site.live_past = std::move(past);
  report.sites.resize(1);
  report.kinds.resize(1);
  report.kinds[0].current_bytes = site.totals.live_bytes;
  return report;
}

}  // namespace vramscope
