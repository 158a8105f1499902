// ranks_answer() tells of the processes of one run which one is first at its peak, in which step
// they differ most, and what communication libraries hold in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/peaks/peak_time.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/ranks_over_time.h"

namespace vramscope {

// When a process held most of its device memory, by the clock of all.
struct TimedPeak {
  std::size_t which = 0;  // index into the reports
  PeakTime time = {};
};

// The process whose peak of device memory comes first. Of several at the same time the one with the
// highest peak.
struct FirstPeak {
  std::size_t which = 0;  // index into the reports
  RankClock clock = RankClock::start;
  PeakTime time = {};
  PeakBounds bytes = {};
  std::size_t median_in = 0;  // the process with the median of the peaks
  PeakTime median = {};       // bounds of the median of the times
  std::size_t compared = 0;   // processes whose time is known, if only within bounds
  // What it held more than that process, each at its own peak, the largest first.
  std::vector<Difference> sites = {};
};

// Why there is none. few: one process. programs: several. host: no memory of a device. unknown: no
// time of any process, or of all but one. overlap: the bounds of times do not tell which is first.
#define VRAMSCOPE_NO_FIRST_PEAK(X) X(none) X(few) X(programs) X(host) X(unknown) X(overlap)
VRAMSCOPE_NAMED_ENUM(NoFirstPeak, std::uint8_t, VRAMSCOPE_NO_FIRST_PEAK);

// Bytes of a step or of a library in each process.
struct NamedSpread {
  enum class What : std::uint8_t { mark, range, library };
  What what = What::mark;
  std::string name;
  Spread spread;
  std::size_t processes = 0;  // that have it; of a step all
  BytesFrom from = BytesFrom::report;
  std::size_t traced = 0;  // processes whose number is from their trace
};

struct RanksAnswer {
  RankClock clock = RankClock::start;
  std::vector<TimedPeak> peaks = {};  // of processes whose time is known, the earliest first
  std::optional<FirstPeak> first_peak = {};
  NoFirstPeak no_first_peak = NoFirstPeak::none;  // there is one
  std::vector<NamedSpread> steps = {};      // that all processes have, the greatest spread first
  std::vector<NamedSpread> libraries = {};  // the most bytes first; 0 bytes in those without it
};

// None of processes of several programs, or of one process. What make_steps_exact() set before is
// used. May throw bad_alloc.
[[nodiscard]] RanksAnswer ranks_answer(const std::vector<ReportOfProcess>& reports,
                                       const RunsNaming& naming);

}  // namespace vramscope
