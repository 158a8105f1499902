// Names of the reports of several processes, as far as they have something in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/own_report.h"

namespace vramscope {

[[nodiscard]] bool are_in_one_file(const std::vector<ReportOfProcess>& reports);
// Where the report was, when it is not there any more.
[[nodiscard]] std::string own_name(const ReportOfProcess& one);
// "ranks/", where all reports lie; "" they lie here, or apart.
[[nodiscard]] std::string common_report_folder(const std::vector<ReportOfProcess>& reports);
// "ranks/vramscope.train.PID.json", where all names are this one with their own process's number;
// "" where they are not, and of one report.
[[nodiscard]] std::string common_report_name(const std::vector<ReportOfProcess>& reports);
[[nodiscard]] bool have_files(const std::vector<ReportOfProcess>& reports);
[[nodiscard]] bool need_file_column(const std::vector<ReportOfProcess>& reports);

}  // namespace vramscope
