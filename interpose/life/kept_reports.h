// KeptReports are the newest reports that were written by themselves: older ones are removed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "allocator/ground/own_file.h"

namespace vramscope {

// A report that this process has published, by an absolute path.
struct OwnReport {
  std::string path;
  FileIdentity file;
};

// Threads: one. May throw bad_alloc.
class KeptReports {
 public:
  static constexpr std::size_t kMost = 1000;
  explicit KeptReports(std::size_t most = kMost) : most_(most) {}

  // The oldest of too many is removed, unless something else has its name by now.
  void add(OwnReport report);

 private:
  const std::size_t most_;
  std::list<OwnReport> files_;  // takes no memory while it is empty
};

}  // namespace vramscope
