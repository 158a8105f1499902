// ranks_text() tells how the processes of one run differ: least, median and most of some figures,
// and the call sites by which the peak of one is far from the median.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// By what processes are told apart by site: their reports once more, and names of their frames.
// Without read_again they are not.
struct RunsNaming {
  std::function<std::optional<Report>(const std::string& file)> read_again = {};
  NameFrame name = {};
};

// What a table of device memory leaves out: "  PEAK and NOW exclude host memory: a process held
// up to 4.00 MiB pinned"; "" where there was none. May throw bad_alloc.
[[nodiscard]] std::string host_memory_text(const std::vector<ReportOfProcess>& reports,
                                           const Page& page);

// The file of a process's own report, where it is there: of one that was merged beside the merged
// one, else where it was; "": it is not. May throw bad_alloc.
[[nodiscard]] std::string own_file(const ReportOfProcess& one);

// The process's own report, read again; nothing where it cannot be had, or is another's. May throw
// bad_alloc.
[[nodiscard]] std::optional<Report> read_own(const ReportOfProcess& one, const RunsNaming& naming);

// Columns of a process's row.
[[nodiscard]] Columns<ReportOfProcess> figures_of_process();
[[nodiscard]] std::string number_text(const Figure& figure, std::uint64_t number);

// Whether the figures of all processes stand as a table above what differs; left out, peaks alone
// are compared.
enum class Figures : std::uint8_t { shown, left_out };
// "" where the processes are of several programs, or one. All of these may throw bad_alloc.
[[nodiscard]] std::string ranks_text(const std::vector<ReportOfProcess>& reports,
                                     const RunsNaming& naming, const Page& page, Figures figures);
// How a figure spreads among the processes.
struct FigureRow {
  const Figure* figure = nullptr;
  Spread spread;
};
[[nodiscard]] std::vector<FigureRow> figure_rows(const std::vector<ReportOfProcess>& reports);
// The reports outlive them.
[[nodiscard]] Columns<FigureRow> figure_columns(const std::vector<ReportOfProcess>& reports);

// Which report to open first: of the first process that died, else of the first that "Differences"
// names, else the first.
[[nodiscard]] std::size_t first_to_open(const std::vector<ReportOfProcess>& reports);

// A process whose figure is worth a line.
struct Outlier {
  std::size_t which = 0;
  std::uint64_t number = 0;
  bool is_above = false;  // the median
};
struct OutlierRow {
  Outlier outlier;
  Spread spread;
};
// Of the peak alone: what made others differ is not known by site.
[[nodiscard]] std::vector<OutlierRow> outlier_rows(const std::vector<ReportOfProcess>& reports);
[[nodiscard]] Columns<OutlierRow> outlier_columns(const std::vector<ReportOfProcess>& reports,
                                                  const RunsNaming& naming);

}  // namespace vramscope
