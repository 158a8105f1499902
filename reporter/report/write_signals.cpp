// Blocks SIGXFSZ for the calling thread, and consumes what we caused.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/write_signals.h"

#include <ctime>

namespace vramscope {

namespace {

bool is_pending() noexcept {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

HeldWriteSignals::HeldWriteSignals() noexcept {
  was_pending_ = is_pending();
  sigemptyset(&signal_);
  sigaddset(&signal_, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signal_, &before_);
}

HeldWriteSignals::~HeldWriteSignals() {
  if (!was_pending_ && is_pending()) {
    const timespec now{};
    sigtimedwait(&signal_, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace vramscope
