// Doorbell is the counter for which the helper thread waits. Threads of this process raise it, and
// so do other processes if it lies in the live file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "allocator/base/kept_errno.h"
#include "interpose/base/futex.h"

namespace vramscope {

// Like WaitableCounter it uses no descriptor. Threads: any; raise() also from signal handlers.
class Doorbell {
 public:
  // Counts in that word from now on. Call it before any thread waits.
  void move_to(std::atomic<std::uint32_t>& word) noexcept { word_ = &word; }

  [[nodiscard]] std::uint32_t value() const noexcept {
    return word_->load(std::memory_order_acquire);
  }

  // The kernel adds one, because a child of fork lacks the pages of the live file: its signal
  // handler may still be ours, and gets an error there instead of a fault.
  void raise() noexcept {
    constexpr int kAddOne = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0);
    const KeptErrno kept;
    const long woken = syscall(SYS_futex, word_, FUTEX_WAKE_OP, INT_MAX, 0, word_, kAddOne);
    if (woken >= 0 || errno == EFAULT) return;
    word_->fetch_add(1, std::memory_order_release);  // a filter or an emulator lacks that operation
    syscall(SYS_futex, word_, FUTEX_WAKE, INT_MAX);
  }

  // Returns when the value is no longer `seen`.
  void wait_beyond(std::uint32_t seen) noexcept {
    while (value() == seen) syscall(SYS_futex, word_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }

  // The same for at most `limit_ns`. Returns false if the time is over.
  bool wait_beyond(std::uint32_t seen, std::uint64_t limit_ns) noexcept {
    return wait_for_change(*word_, FUTEX_WAIT, seen, limit_ns);
  }

 private:
  std::atomic<std::uint32_t> own_{0};
  std::atomic<std::uint32_t>* word_ = &own_;
};

}  // namespace vramscope
