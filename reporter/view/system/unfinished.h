// UnfinishedFile removes a file if a signal ends the tool before the file is complete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>
#include <string>

namespace vramscope {

// While it lives, SIGINT, SIGTERM and SIGHUP remove the file before they end the process, which is
// their default. Signals that are ignored or handled elsewhere stay so. Of several objects each
// removes its file. Threads: one.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  // For the handler of signals.
  static void remove_all() noexcept;

 private:
  const std::string path_;
  std::atomic<UnfinishedFile*> older_;
};

// Holds those signals back on the calling thread, while a file is made and the object for it is not
// yet.
class HeldEnd {
 public:
  HeldEnd();
  ~HeldEnd();
  HeldEnd(const HeldEnd&) = delete;
  HeldEnd& operator=(const HeldEnd&) = delete;

 private:
  sigset_t before_;
};

}  // namespace vramscope
