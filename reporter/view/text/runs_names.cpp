// Looks at names alone, and at whether files are there.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/runs_names.h"

#include <algorithm>

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

// Of a merged report each process has a file of its own, or had.
bool has_own_names(const Reports& reports) {
  return reports.size() == 1 || std::any_of(reports.begin(), reports.end(), [](const auto& one) {
           return one.is_merged && !one.process.report.empty();
         });
}

}  // namespace

bool are_in_one_file(const Reports& reports) {
  return std::all_of(reports.begin(), reports.end(),
                     [&](const auto& one) { return one.file == reports.front().file; });
}

std::string own_name(const ReportOfProcess& one) {
  if (!one.is_merged || one.process.report.empty()) return one.file;
  const std::string own = own_file(one);
  return own.empty() ? one.process.report : own;
}

std::string common_report_folder(const Reports& reports) {
  const auto folder_of = [](const ReportOfProcess& one) {
    const std::string name = own_name(one);
    return name.substr(0, name.rfind('/') + 1);
  };
  const std::string folder = folder_of(reports.front());
  const bool is_common = std::all_of(reports.begin(), reports.end(),
                                     [&](const auto& one) { return folder_of(one) == folder; });
  return is_common ? folder : "";
}

std::string common_report_name(const Reports& reports) {
  const auto pid_of = [](const auto& one) { return std::to_string(one.process.process.pid); };
  const std::string first = own_name(reports.front()), pid = pid_of(reports.front());
  const std::size_t at = first.rfind("." + pid + ".");
  if (reports.size() == 1 || at == std::string::npos) return "";
  const std::string before = first.substr(0, at + 1);
  const std::string behind = first.substr(before.size() + pid.size());
  const bool is_common = std::all_of(reports.begin(), reports.end(), [&](const auto& one) {
    return own_name(one) == before + pid_of(one) + behind;
  });
  return is_common ? before + "PID" + behind : "";
}

bool have_files(const Reports& reports) {
  return !are_in_one_file(reports) || has_own_names(reports);
}
bool need_file_column(const Reports& reports) {
  return have_files(reports) && common_report_name(reports).empty();
}

}  // namespace vramscope
