// ranks_text() tells how the processes of one run differ: least, median and most of some figures,
// and the call sites by which the peak of one is far from the median.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/process_differences.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// What a table of device memory leaves out: "PEAK and NOW exclude host memory: a process held
// up to 4.00 MiB pinned"; "" where there was none. May throw bad_alloc.
[[nodiscard]] std::string host_memory_text(const std::vector<ReportOfProcess>& reports);

// "+48.0 MiB  forward (train.cu:57) < main (train.cu:98)  (60.0 MiB here, 12.0 MiB in rank 2
// (4711))". other: the process of the median.
[[nodiscard]] std::string site_difference_text(const Difference& row, const std::string& other);

// Columns of a process's row.
[[nodiscard]] Columns<ReportOfProcess> figures_of_process();
[[nodiscard]] std::string number_text(const Figure& figure, std::uint64_t number);

// Of so many outliers of a figure it tells at most, with call sites.
inline constexpr std::size_t kOutliersTold = 4;
// Whether a screen that lacks room shows the figures of all processes, as a table above what
// differs; else peaks alone are compared.
using HasFigures = std::function<bool(const ScreenRoom&)>;
// Empty of no differences. They are those of the reports, with sites of kOutliersTold. All of these
// may throw bad_alloc.
[[nodiscard]] Document ranks_text(const std::vector<ReportOfProcess>& reports,
                                  const std::vector<ProcessDifference>& differences,
                                  const Page& page, const HasFigures& has_figures);
// How a figure spreads among the processes. The reports outlive them.
[[nodiscard]] Columns<FigureRow> figure_columns(const std::vector<ReportOfProcess>& reports);

[[nodiscard]] Columns<ProcessDifference> kind_columns(const std::vector<ReportOfProcess>& reports);
[[nodiscard]] Columns<OutlierRow> outlier_columns(const std::vector<ReportOfProcess>& reports,
                                                  const RunsNaming& naming);

}  // namespace vramscope
