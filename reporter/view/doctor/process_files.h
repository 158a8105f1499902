// ProcessFiles is what /proc says of a running process, read for doctor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/system/target.h"

namespace vramscope {

class ProcessFiles {
 public:
  // Throws invalid_argument with one line if the process does not exist or may not be examined.
  explicit ProcessFiles(pid_t pid);

  [[nodiscard]] const TargetFiles& files() const { return files_; }
  [[nodiscard]] const std::string& program() const { return program_; }  // path; "": unknown
  [[nodiscard]] std::vector<std::string> arguments() const;  // from the command's name on
  // Returns the paths of mapped files whose names begin with `name`, each once; " (deleted)" stays
  // at the end.
  [[nodiscard]] std::vector<std::string> mapped(std::string_view name) const;
  // Returns what /proc/PID/status says of `name`, without the space before it; "": nothing.
  [[nodiscard]] std::string status(const std::string& name) const;
  // Returns the value of a variable with which the process started, or nothing if it was not set.
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
  // Returns "NAME=value" for collect_settings(), with null at the end. Valid as long as this
  // object.
  [[nodiscard]] std::vector<const char*> variables() const;
  // Returns whether every thread of the program blocks the signal. The library's own thread does
  // not count.
  [[nodiscard]] bool blocks(int signal) const;
  // Returns whether it has a live file in memory, or the library's own thread: both begin with the
  // first cuInit.
  [[nodiscard]] bool is_recording() const;
  [[nodiscard]] pid_t parent() const;
  [[nodiscard]] std::vector<pid_t> children() const;  // of its first thread, if the kernel lists
                                                      // them

 private:
  struct Thread {
    std::string name;
    std::string status;
  };
  pid_t pid_;
  TargetFiles files_;
  std::string program_;
  std::vector<Thread> threads_;
};

}  // namespace vramscope
