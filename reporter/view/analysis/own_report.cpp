// Looks for a report beside the one that it was merged into, and where it was.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/own_report.h"

#include <filesystem>
#include <system_error>

#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {

std::string own_file(const ReportOfProcess& one) {
  namespace fs = std::filesystem;
  if (!one.is_merged) return one.file;
  const fs::path was = one.process.report;
  const fs::path beside = fs::path(one.file).parent_path() / was.filename();
  for (const fs::path& candidate : {beside, was}) {
    std::error_code error;
    if (!was.empty() && fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

std::optional<Report> read_own(const ReportOfProcess& one, const RunsNaming& naming) {
  if (!naming.read_again) return std::nullopt;
  const std::string file = own_file(one);
  std::optional<Report> report = file.empty() ? std::nullopt : naming.read_again(file);
  const bool is_its = report && !is_merged(*report) &&
                      identity_of(report->process) == identity_of(one.process.process);
  return is_its ? std::move(report) : std::nullopt;
}

}  // namespace vramscope
