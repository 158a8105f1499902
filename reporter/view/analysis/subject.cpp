// Tells what a report is of.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/subject.h"

#include <algorithm>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"

namespace vramscope {

End end_of(const MergedProcess& process) {
  if (!process.process.ended_by.empty()) return End::died;
  switch (trigger_of(process.trigger)) {
    case Trigger::exit:
      return End::exit;
    case Trigger::exec:
      return End::exec;
    case Trigger::recovered:
      return End::died;
    case Trigger::imported:
    case Trigger::untold:
      return End::untold;
    default:
      return End::went_on;
  }
}

bool has_died(const MergedProcess& process) { return end_of(process) == End::died; }

std::vector<const MergedProcess*> dead_among(const std::vector<MergedProcess>& processes) {
  std::vector<const MergedProcess*> dead;
  for (const MergedProcess& one : processes) {
    if (has_died(one)) dead.push_back(&one);
  }
  return dead;
}

std::string death_word(const MergedProcess& process) {
  if (!has_died(process)) return "";
  return process.process.ended_by.empty() ? "died" : "killed";
}

Trigger trigger_of(const Report& report) { return trigger_of(report.trigger); }

bool is_merged(const Report& report) { return !report.processes.empty(); }

bool is_of_several(const Report& report) { return report.processes.size() > 1; }

bool is_final(const Report& report) {
  const auto is_exit = [](std::string_view trigger) {
    return trigger_of(trigger) == Trigger::exit;
  };
  if (!is_merged(report)) return is_exit(report.trigger);
  return std::all_of(report.processes.begin(), report.processes.end(),
                     [&](const MergedProcess& one) { return is_exit(one.trigger); });
}

bool have_all_ended(const Report& report) {
  const std::vector<MergedProcess> processes = merged_processes(report);
  return std::all_of(processes.begin(), processes.end(), [](const MergedProcess& one) {
    return trigger_of(one.trigger) == Trigger::exit || has_died(one);
  });
}

}  // namespace vramscope
