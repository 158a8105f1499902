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
#include "reporter/view/listing/json_text.h"

namespace vramscope {

// By what processes are told apart by site: their reports once more, and names of their frames.
// Without read_again they are not.
struct RunsNaming {
  std::function<std::optional<Report>(const std::string& file)> read_again = {};
  NameFrame name = {};
};

// What a table of device memory leaves out: "  PEAK and NOW leave host memory out: a process held
// up to 4.00 MiB pinned"; "" where there was none. May throw bad_alloc.
[[nodiscard]] std::string host_memory_text(const std::vector<ReportOfProcess>& reports,
                                           const Page& page);

// The file of a process's own report, where it is there: of one that was merged beside the merged
// one, else where it was; "": it is not. May throw bad_alloc.
[[nodiscard]] std::string own_file(const ReportOfProcess& one);

// The process's own report, read again; nothing where it cannot be had, or is another's. May throw
// bad_alloc.
[[nodiscard]] std::optional<Report> read_own(const ReportOfProcess& one, const RunsNaming& naming);

// May throw bad_alloc.
void add_figures(Columns<ReportOfProcess>& columns);
[[nodiscard]] std::string number_text(const Figure& figure, std::uint64_t number);

// Whether the figures of all processes stand as a table above what differs; left out, peaks alone
// are compared.
enum class Figures : std::uint8_t { shown, left_out };
// "" where the processes are of several programs, or one. All of these may throw bad_alloc.
[[nodiscard]] std::string ranks_text(const std::vector<ReportOfProcess>& reports,
                                     const RunsNaming& naming, const Page& page, Figures figures);
// The elements of lists that are open.
void figures_json(JsonText& json, const std::vector<ReportOfProcess>& reports);
void differences_json(JsonText& json, const std::vector<ReportOfProcess>& reports,
                      const RunsNaming& naming);

}  // namespace vramscope
