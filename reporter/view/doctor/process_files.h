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
  // Throws invalid_argument, one line: there is no such process, or it may not be looked at.
  explicit ProcessFiles(pid_t pid);

  [[nodiscard]] const TargetFiles& files() const { return files_; }
  [[nodiscard]] const std::string& program() const { return program_; }  // path; "": unknown
  [[nodiscard]] std::vector<std::string> arguments() const;  // from the command's name on
  // Paths of what is mapped whose file's name begins so, each once; " (deleted)" stays behind.
  [[nodiscard]] std::vector<std::string> mapped(std::string_view name) const;
  // Value of a variable with which it was started; nothing when it was not set.
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
  // "NAME=value", for collect_settings(); null at the end. Valid as long as this.
  [[nodiscard]] std::vector<const char*> variables() const;
  // Does every thread of the program block the signal? The library's own does not count.
  [[nodiscard]] bool blocks(int signal) const;
  // Has a live file in memory, or the library's own thread: both come with the first cuInit.
  [[nodiscard]] bool is_recording() const;
  [[nodiscard]] pid_t parent() const;
  [[nodiscard]] std::vector<pid_t> children() const;  // of its first thread, where the kernel tells

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
