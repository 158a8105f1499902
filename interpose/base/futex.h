// WaitableCounter is a counter that one thread raises and another waits for. Raising is
// async-signal-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "allocator/base/kept_errno.h"
#include "interpose/base/clock.h"

namespace vramscope {

// Waits until a word is no longer `seen`, for at most `limit_ns`. Returns false if the time is
// over. wait: FUTEX_WAIT, or FUTEX_WAIT_PRIVATE for a word that this process alone has.
inline bool wait_for_change(const std::atomic<std::uint32_t>& word, int wait, std::uint32_t seen,
                            std::uint64_t limit_ns) noexcept {
  const std::uint64_t end = now_ns() + limit_ns;
  while (word.load(std::memory_order_acquire) == seen) {
    const std::uint64_t now = now_ns();
    if (now >= end) return false;
    const timespec left = {static_cast<time_t>((end - now) / 1'000'000'000U),
                           static_cast<long>((end - now) % 1'000'000'000U)};
    syscall(SYS_futex, &word, wait, seen, &left, nullptr, 0);
  }
  return true;
}

// It uses no descriptor, so programs that close every descriptor cannot break it.
// Threads: any; raise() also from signal handlers.
class WaitableCounter {
 public:
  [[nodiscard]] std::uint32_t value() const noexcept {
    return value_.load(std::memory_order_acquire);
  }

  void raise() noexcept {
    const KeptErrno kept;
    value_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  // Returns when the value is no longer `seen`.
  void wait_beyond(std::uint32_t seen) noexcept {
    while (value() == seen) {
      syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
  }

  // The same for at most `limit_ns`. Returns false if the time is over.
  bool wait_beyond(std::uint32_t seen, std::uint64_t limit_ns) noexcept {
    return wait_for_change(value_, FUTEX_WAIT_PRIVATE, seen, limit_ns);
  }

 private:
  std::atomic<std::uint32_t> value_{0};
};

}  // namespace vramscope
