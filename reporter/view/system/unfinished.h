// UnfinishedFile takes a file away when a signal ends the tool before the file is whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// While it lives, SIGINT, SIGTERM and SIGHUP remove the file before they end the process, as they
// do by default; those that are ignored or handled by others stay so. Of several the newest counts.
// Threads: one.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  const std::string path_;
};

}  // namespace vramscope
