// launch() starts a program as a shell would, and does not disturb it until it ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace vramscope {

struct Ending {
  pid_t pid = 0;     // 0: it was never started
  int error = 0;     // errno of the start: not found, not executable, no process
  bool own = false;  // the error is ours, not the program's
  int status = 0;    // exit status
  int signal = 0;    // the signal that ended it; 0: it exited
};

// Runs `arguments` (the first is looked up in PATH) with this process's environment, descriptors
// and signal dispositions, and waits for the end. Meanwhile interrupts and quits from the terminal
// are left to the program, and hang-up, termination and user signals sent to us are passed on.
// Threads: one, the only one of the process that takes signals.
[[nodiscard]] Ending launch(const std::vector<std::string>& arguments);

}  // namespace vramscope
