// Looks for a process, and says why it is not there.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/live_process.h"

#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "reporter/view/command/verb.h"

namespace vramscope {

std::optional<RunningProcess> live_process_named(const std::string& word,
                                                 const std::vector<RunningProcess>& running) {
  for (const RunningProcess& one : running) {
    if (std::to_string(one.pid) == word) return one;
  }
  const std::string process = "process " + word;
  const bool is_number = not_a_count(word).empty() && word != "0";
  if (!is_number) {
    say("'" + word + "' is no process number");
  } else if (kill(static_cast<pid_t>(std::stol(word)), 0) != 0 && errno == ESRCH) {
    say(process + " does not run");
  } else {
    say(process +
        " is not recorded: it was not started with vramscope run, has not used CUDA yet, or "
        "belongs to another user");
  }
  return std::nullopt;
}

std::optional<RunningProcess> live_process_named(const std::string& word) {
  std::vector<RunningProcess> running = running_processes();
  const bool is_number = not_a_count(word).empty() && word != "0";
  const auto found = std::ranges::find_if(
      running, [&](const RunningProcess& one) { return std::to_string(one.pid) == word; });
  const bool is_near = found != running.end() && !found->live_file.empty();
  if (is_number && !is_near) {
    if (auto one = running_in_container(std::stol(word))) return one;
  }
  return live_process_named(word, running);
}

std::string no_live_file_of(const RunningProcess& process) {
  const std::string pid = std::to_string(process.pid);
  return "process " + pid + " has no live file that can be read; vramscope snapshot " + pid +
         " makes a report";
}

}  // namespace vramscope
