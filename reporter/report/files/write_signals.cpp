// Blocks SIGXFSZ and SIGPIPE for the calling thread, and consumes those that we caused.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/write_signals.h"

#include <ctime>
#include <initializer_list>

#include "allocator/base/kept_errno.h"

namespace vramscope {

HeldWriteSignals::HeldWriteSignals() noexcept {
  sigset_t pending;
  sigset_t both;
  sigemptyset(&pending);
  sigemptyset(&both);
  sigemptyset(&ours_);
  sigpending(&pending);
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    sigaddset(&both, signal);
    if (sigismember(&pending, signal) == 0) sigaddset(&ours_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &both, &before_);
}

HeldWriteSignals::~HeldWriteSignals() {
  const KeptErrno kept;
  const timespec now{};
  while (sigtimedwait(&ours_, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace vramscope
