// ranks_answer() tells of the processes of one run which one is first at its peak, in which step
// they differ most, and what communication libraries hold in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/ranks_over_time.h"

namespace vramscope {

// The process whose peak of device memory comes first. Of several at the same time the one with the
// highest peak.
struct FirstPeak {
  std::size_t which = 0;  // index into the reports
  RankClock clock = RankClock::start;
  std::uint64_t at_ns = 0;
  std::uint64_t bytes = 0;
  std::size_t median_in = 0;    // the process with the median of the peaks
  std::uint64_t median_ns = 0;  // median of the times
  // What it held more than that process, each at its own peak, the largest first.
  std::vector<Difference> sites = {};
};

// Bytes of a step or of a library in each process.
struct NamedSpread {
  enum class What : std::uint8_t { mark, range, library };
  What what = What::mark;
  std::string name;
  Spread spread;
  std::size_t processes = 0;  // that have it; of a step all
};

struct RanksAnswer {
  std::optional<FirstPeak> first_peak = {};
  std::vector<NamedSpread> steps = {};      // that all processes have, the greatest spread first
  std::vector<NamedSpread> libraries = {};  // the most bytes first; 0 bytes in those without it
};

// None of processes of several programs, or of one process. May throw bad_alloc.
[[nodiscard]] RanksAnswer ranks_answer(const std::vector<ReportOfProcess>& reports,
                                       const RunsNaming& naming);

}  // namespace vramscope
