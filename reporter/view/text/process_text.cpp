// A process in words.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/process_text.h"

#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/analysis/process_end.h"
#include "reporter/view/listing/format.h"

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

std::string titled_process(const ProcessFacts& process) {
  const std::string rank = process.rank < 0 ? "" : ", rank " + std::to_string(process.rank);
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
  return process.executable.substr(process.executable.rfind('/') + 1);
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

std::string end_text(const MergedProcess& process) {
  if (!process.process.ended_by.empty()) return process.process.ended_by;
  if (process.trigger == kRecovered) return "died (recovered)";
  const bool ends = process.trigger == "exit" || process.trigger == "exec";
  return ends ? process.trigger : "went on (" + process.trigger + ")";
}

std::string trigger_text(std::string_view trigger) {
  static constexpr std::pair<std::string_view, const char*> kTexts[] = {
      {"exit", "written at exit"},
      {"exec", "written before exec"},
      {"signal", "written on a signal"},
      {"oom", "written when memory ran out"},
      {"interval", "written at an interval"},
      {"growth", "written when memory had grown"},
      {"peak", "written at a peak"},
      {"moving", "copied while it went on"},
      {"merged", "the last one written"},
      {"", "written for a reason that it does not tell"}};
  for (const auto& [name, text] : kTexts) {
    if (trigger == name) return text;
  }
  return "written for the reason '" + std::string(trigger) + "'";  // of a newer version
}

}  // namespace vramscope
