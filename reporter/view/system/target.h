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

// The texts of /proc/PID/maps, status and environ, and where cwd points to.
struct TargetFiles {
  std::string maps;
  std::string status;
  std::string environment;
  std::string folder;
  HelperState helper = {};  // what the library's thread says
};

// Which process, which signal, and where its reports appear.
struct Target {
  pid_t pid = 0;
  int signal = 0;
  uid_t user = 0;         // whose the files are that it makes
  std::string note_file;  // where it notes its reports; "" when nobody asked it to
  std::string folder;     // where its reports appear; "" when the name pattern varies the folder
  bool is_held_back = false;  // a report that was asked for waits for its turn
  std::string hint;           // one line on what else the signal does; "" nothing
  std::string error;          // one line on why it cannot be asked; "" when it can
};

// `signal`: 0 for the one that the process was started with.
[[nodiscard]] Target inspect(pid_t pid, int signal, const TargetFiles& files);

// nullopt: no such process, or not ours to look at; errno tells.
[[nodiscard]] std::optional<TargetFiles> read_target(pid_t pid);

}  // namespace vramscope
