// How a process ended.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/process_end.h"

#include "reporter/report/report.h"

namespace vramscope {

bool has_died(const MergedProcess& process) {
  return !process.process.ended_by.empty() || process.trigger == kRecovered;
}

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

}  // namespace vramscope
