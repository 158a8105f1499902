// HeldWriteSignals prevents a write of ours from killing the program in which we run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace vramscope {

// While the object lives, a write beyond RLIMIT_FSIZE only fails with EFBIG and one into a closed
// pipe with EPIPE: SIGXFSZ and SIGPIPE, whose default action ends the process, are blocked and
// consumed. Threads: the one that writes.
class HeldWriteSignals {
 public:
  HeldWriteSignals() noexcept;
  ~HeldWriteSignals();
  HeldWriteSignals(const HeldWriteSignals&) = delete;
  HeldWriteSignals& operator=(const HeldWriteSignals&) = delete;

 private:
  sigset_t ours_{};  // those of the two signals that were not pending before
  sigset_t before_{};
};

}  // namespace vramscope
