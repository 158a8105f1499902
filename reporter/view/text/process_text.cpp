// A process in words.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/process_text.h"

#include "reporter/report/report.h"
#include "reporter/view/text/format.h"

namespace vramscope {

std::string process_text(const ProcessFacts& process) {
  const std::string pid = std::to_string(process.pid);
  return process.rank < 0 ? pid : "rank " + std::to_string(process.rank) + " (" + pid + ")";
}

std::string named_process(const ProcessFacts& process) {
  const std::string program = program_of(process);
  if (process.rank >= 0 || program.empty()) return process_text(process);
  return program + " (" + process_text(process) + ")";
}

std::string program_of(const ProcessFacts& process) {
  return process.executable.substr(process.executable.rfind('/') + 1);
}

std::vector<const MergedProcess*> dead_among(const std::vector<MergedProcess>& processes) {
  std::vector<const MergedProcess*> dead;
  for (const MergedProcess& one : processes) {
    if (!death_text(one).empty()) dead.push_back(&one);
  }
  return dead;
}

std::string death_text(const MergedProcess& process) {
  const std::string& signal = process.process.ended_by;
  if (!signal.empty()) return "was killed by " + signal;
  return process.trigger == kRecovered ? "died" : "";
}

std::string who_died(const std::vector<MergedProcess>& processes) {
  const std::vector<const MergedProcess*> dead = dead_among(processes);
  if (dead.empty()) return "";
  if (dead.size() == 1)
    return process_text(dead.front()->process) + " " + death_text(*dead.front());
  return count_text(static_cast<std::int64_t>(dead.size())) + " of " +
         count_text(static_cast<std::int64_t>(processes.size())) + " processes died";
}

std::string death_word(const MergedProcess& process) {
  if (death_text(process).empty()) return "";
  return process.process.ended_by.empty() ? "died" : "killed";
}

std::string end_text(const MergedProcess& process) {
  if (!process.process.ended_by.empty()) return process.process.ended_by;
  if (process.trigger == kRecovered) return "died (recovered)";
  const bool ends = process.trigger == "exit" || process.trigger == "exec";
  return ends ? process.trigger : "went on (" + process.trigger + ")";
}

}  // namespace vramscope
