// KeptReports keeps the newest automatic reports and removes older ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "allocator/base/own_file.h"

namespace vramscope {

// A report that this process has published, with its absolute path.
struct OwnReport {
  std::string path;
  FileIdentity file;
};

// Threads: one. May throw bad_alloc.
class KeptReports {
 public:
  static constexpr std::size_t kMost = 1000;
  explicit KeptReports(std::size_t most = kMost) : most_(most) {}

  // Adds a report. If there are too many, removes the oldest, unless another file has its name by
  // now.
  void add(OwnReport report);

 private:
  const std::size_t most_;
  std::list<OwnReport> files_;  // an empty list takes no memory
};

}  // namespace vramscope
