// Target is a process that is asked for a report, as /proc describes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/settings/private_variables.h"

namespace vramscope {

// The texts of /proc/PID/maps, status and environ, and the target of cwd.
struct TargetFiles {
  std::string maps;
  std::string status;
  std::string environment;
  std::string folder;
  HelperState helper = {};  // the state of the library's thread
};

// The process, the signal, and where its reports appear.
struct Target {
  pid_t pid = 0;
  int signal = 0;
  uid_t user = 0;         // owner of the files that it makes
  std::string note_file;  // where it notes its reports; "": it was not asked to
  std::string folder;     // where its reports appear; "": the folder depends on the name pattern
  bool is_held_back = false;  // an earlier request for a report is still waiting
  std::string hint;           // one line on what else the signal does; "": nothing
  std::string error;          // one line on why it cannot be asked; "": it can
};

// signal: 0 for the one with which the process was started.
[[nodiscard]] Target inspect(pid_t pid, int signal, const TargetFiles& files);

// Returns nullopt, with errno, if the process does not exist or may not be examined.
[[nodiscard]] std::optional<TargetFiles> read_target(pid_t pid);

}  // namespace vramscope
