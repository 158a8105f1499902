// ProcessDifference is a figure by which the processes of one run differ, with those that are far
// from the median and the call sites that made them so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/process_figures.h"

namespace vramscope {

// How a figure spreads among the processes.
struct FigureRow {
  const Figure* figure = nullptr;
  Spread spread;
};
[[nodiscard]] std::vector<FigureRow> figure_rows(const std::vector<ReportOfProcess>& reports);

// A process whose figure is worth a line.
struct Outlier {
  std::size_t which = 0;
  std::uint64_t number = 0;
  bool is_above = false;  // the median
};
struct OutlierRow {
  Outlier outlier;
  Spread spread;
  bool is_compared = true;  // by call sites: the first kMostCompared, whose reports are read again
};
inline constexpr std::size_t kMostCompared = 20;
// Of the peak alone: what made others differ is not known by site.
[[nodiscard]] std::vector<OutlierRow> outlier_rows(const std::vector<ReportOfProcess>& reports);

// What the outlier held more, or less, at its peak than the process of the median at its own, the
// largest difference first, three at most. The kinds of a device are added up, as its peak does,
// and are listed as Kind::device; of the host's only that with the largest difference is listed.
// Nothing where the reports of both cannot be had. May throw bad_alloc.
[[nodiscard]] std::vector<Difference> sites_behind(const std::vector<ReportOfProcess>& reports,
                                                   const Spread& spread, const Outlier& outlier,
                                                   bool is_of_host, const RunsNaming& naming);

struct ProcessDifference {
  const Figure* figure = nullptr;
  Spread spread;
  std::vector<Outlier> outliers = {};
  // By which sites the first of them differ, of peaks of a device or of the host; else empty.
  std::vector<std::vector<Difference>> sites = {};
};
// Of each kind of memory that a process has.
[[nodiscard]] std::vector<ProcessDifference> kind_rows(const std::vector<ReportOfProcess>& reports);
// Of each figure, and of each kind of memory with outliers that the peak of all kinds, of the
// device or of the host, does not tell of; none where the processes are of several programs, or
// one. Reads the reports of as many outliers of a figure as are `most`, and of the process of the
// median. May throw bad_alloc.
[[nodiscard]] std::vector<ProcessDifference> process_differences(
    const std::vector<ReportOfProcess>& reports, const RunsNaming& naming, std::size_t most);

// Which report to open first: of the first process that died, else of the first that differs, else
// the first.
[[nodiscard]] std::size_t first_to_open(const std::vector<ReportOfProcess>& reports);

}  // namespace vramscope
