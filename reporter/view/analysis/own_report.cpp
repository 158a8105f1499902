// Looks for a report beside the one that it was merged into, and where it was.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/own_report.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

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

LeftAside drop_repeated_processes(std::vector<ReportOfProcess>& reports) {
  const auto rank_of = [](const ReportOfProcess& one) {
    return std::pair(one.process.sequence, !one.is_merged);
  };
  std::map<ProcessIdentity, std::size_t> best;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto [known, is_first] = best.try_emplace(identity_of(reports[i].process.process), i);
    if (!is_first && rank_of(reports[known->second]) < rank_of(reports[i])) known->second = i;
  }
  LeftAside left;
  std::vector<ReportOfProcess> kept;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::size_t chosen = best[identity_of(reports[i].process.process)];
    const bool is_told = reports[i].process.process.pid != 0;  // whose report it is
    if (chosen == i || !is_told) {
      kept.push_back(reports[i]);
    } else {
      ++(reports[i].process.sequence < reports[chosen].process.sequence ? left.earlier
                                                                        : left.repeated);
    }
  }
  reports = std::move(kept);
  return left;
}

}  // namespace vramscope
