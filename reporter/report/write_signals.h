// Keeps a full quota from killing the program under us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace vramscope {

// While it lives, a write beyond RLIMIT_FSIZE only fails with EFBIG: SIGXFSZ, whose default is to
// end the process, is held back and taken away again. Threads: the one that writes.
class HeldWriteSignals {
 public:
  HeldWriteSignals() noexcept;
  ~HeldWriteSignals();
  HeldWriteSignals(const HeldWriteSignals&) = delete;
  HeldWriteSignals& operator=(const HeldWriteSignals&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace vramscope
