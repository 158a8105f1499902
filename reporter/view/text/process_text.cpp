// A process in words.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/process_text.h"

#include <utility>

#include "reporter/report/files/file_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

std::string process_text(const ProcessFacts& process) {
  const std::string pid = std::to_string(process.pid);
  return process.rank < 0 ? pid : "rank " + std::to_string(process.rank) + " (" + pid + ")";
}

std::string named_process(const ProcessFacts& process) {
  const std::string program = program_of(process);
  if (process.pid == 0 && !program.empty()) return program;  // another tool's file: nobody knows
  if (process.rank >= 0 || program.empty()) return process_text(process);
  return program + " (" + process_text(process) + ")";
}

std::string titled_process(const ProcessFacts& process) {
  const std::string rank = process.rank < 0 ? "" : ", rank " + std::to_string(process.rank);
  if (process.pid == 0) return program_of(process) + rank;
  return program_of(process) + rank + " (" + std::to_string(process.pid) + ")";
}

std::string command_line(const ProcessFacts& process) {
  std::string line;
  for (const std::string& word : process.arguments) {
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return line.empty() ? process.executable : line;
}

std::string program_of(const ProcessFacts& process) {
  return program_name(process.executable, process.arguments);
}

std::string death_text(const MergedProcess& process) {
  if (!has_died(process)) return "";
  const std::string& signal = process.process.ended_by;
  return signal.empty() ? "died" : "was killed by " + signal;
}

std::string who_died(const std::vector<MergedProcess>& processes) {
  const std::vector<const MergedProcess*> dead = dead_among(processes);
  if (dead.empty()) return "";
  if (dead.size() == 1)
    return process_text(dead.front()->process) + " " + death_text(*dead.front());
  return count_text(dead.size()) + " of " + count_text(processes.size()) + " processes died";
}

std::string end_text(const MergedProcess& process) {
  switch (end_of(process)) {
    case End::died:
      return process.process.ended_by.empty() ? "died (recovered)" : process.process.ended_by;
    case End::exit:
    case End::exec:
      return process.trigger;
    case End::untold:
      return "not known (" + process.trigger + ")";
    case End::went_on:
      break;
  }
  return "running (report: " + process.trigger + ")";
}

std::string trigger_text(std::string_view trigger) {
  switch (trigger_of(trigger)) {
    case Trigger::exit:
      return "written at exit";
    case Trigger::exec:
      return "written before exec";
    case Trigger::signal:
      return "written on a signal";
    case Trigger::control:
      return "written on request";
    case Trigger::oom:
      return "written when memory ran out";
    case Trigger::interval:
      return "written at an interval";
    case Trigger::growth:
      return "written when memory had grown";
    case Trigger::peak:
      return "written at a peak";
    case Trigger::moving:
      return "copied while the program ran";
    case Trigger::merged:
      return "the last one written";
    case Trigger::untold:
      return "written for a reason that it does not tell";
    case Trigger::recovered:
    case Trigger::trace:
    case Trigger::imported:
    case Trigger::other:  // of a newer version
      break;
  }
  return "written for the reason '" + std::string(trigger) + "'";
}

}  // namespace vramscope
