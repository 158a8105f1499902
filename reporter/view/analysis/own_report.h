// The report of one process, which may have been merged with others since.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// Reads a process's own report again and names its frames, to find the sites in which processes
// differ. Without read_again they are not compared by site. Tells those who wait how far traces
// were followed.
struct RunsNaming {
  std::function<std::optional<Report>(const std::string& file)> read_again = {};
  NameFrame name = {};
  TellShare tell = {};
};

// The file of a process's own report, where it is there: of one that was merged beside the merged
// one, else where it was; "": it is not. May throw bad_alloc.
[[nodiscard]] std::string own_file(const ReportOfProcess& one);

// The process's own report, read again; nothing where it cannot be had, or is another's. May throw
// bad_alloc.
[[nodiscard]] std::optional<Report> read_own(const ReportOfProcess& one, const RunsNaming& naming);

// Reports that were not taken because others tell of their processes.
struct LeftAside {
  std::size_t earlier = 0;   // by sequence
  std::size_t repeated = 0;  // the same once more, as a part of a merged report
};
// Of several reports of one process the last one, by sequence; of equal ones that which was not
// merged. Of whose process nobody knows all stay.
[[nodiscard]] LeftAside drop_repeated_processes(std::vector<ReportOfProcess>& reports);

}  // namespace vramscope
