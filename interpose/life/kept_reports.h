// KeptReports are the newest reports that were written by themselves: older ones are removed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <string>

namespace vramscope {

// Threads: one. May throw bad_alloc.
class KeptReports {
 public:
  static constexpr std::size_t kMost = 1000;
  explicit KeptReports(std::size_t most = kMost) : most_(most) {}

  // A report was written there, by an absolute path. The oldest of too many is removed, unless
  // something else has its name by now.
  void add(std::string path);

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  [[nodiscard]] static bool identify(File& file) noexcept;

  const std::size_t most_;
  std::list<File> files_;  // takes no memory while it is empty
};

}  // namespace vramscope
