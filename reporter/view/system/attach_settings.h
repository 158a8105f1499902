// AttachSettings are what `vramscope attach` hands to the library (report/live/attach_file.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "allocator/base/own_file.h"

namespace vramscope {

// The file exists as long as the object does.
class AttachSettings {
 public:
  // settings: "NAME=value". May throw bad_alloc.
  AttachSettings(pid_t process, const std::vector<std::string>& settings);
  ~AttachSettings();
  AttachSettings(const AttachSettings&) = delete;
  AttachSettings& operator=(const AttachSettings&) = delete;

  // Leaves the file to a process that has not read it yet.
  void keep() { file_ = {}; }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // one line; "": none

 private:
  bool make(const std::string& folder, const std::string& text);

  const pid_t process_;
  std::string name_;
  std::string problem_;
  int folder_ = -1;
  FileIdentity file_;
};

}  // namespace vramscope
