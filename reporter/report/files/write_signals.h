// HeldWriteSignals keeps a write of ours from killing the program that we run in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace vramscope {

// While it lives, a write beyond RLIMIT_FSIZE only fails with EFBIG and one into a closed pipe with
// EPIPE: SIGXFSZ and SIGPIPE, whose default is to end the process, are held back and taken away
// again. Threads: the one that writes.
class HeldWriteSignals {
 public:
  HeldWriteSignals() noexcept;
  ~HeldWriteSignals();
  HeldWriteSignals(const HeldWriteSignals&) = delete;
  HeldWriteSignals& operator=(const HeldWriteSignals&) = delete;

 private:
  sigset_t ours_{};  // those of the two that were not pending before
  sigset_t before_{};
};

}  // namespace vramscope
