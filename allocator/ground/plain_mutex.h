// The allocator's lock is made for sections of some fifty nanoseconds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/ground/capability.h"
#include "allocator/ground/lost_locks.h"

namespace vramscope {

// For sections of some fifty nanoseconds that are entered millions of times: one atomic exchange
// to lock, a plain store to unlock. A waiter looks again after some such sections, less and less
// often, and then sleeps. Unlocking may miss waiters that are just going to sleep (a fence
// that would prevent it costs as much as a second exchange), so sleeps are short.
// Threads: any.
class VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() VRAMSCOPE_ACQUIRE() {
    if (!take()) [[unlikely]]
      wait();
  }
  [[nodiscard]] bool try_lock() VRAMSCOPE_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    return take();
  }
  void unlock() VRAMSCOPE_RELEASE() {
    holder_.store(0, std::memory_order_release);
    if (has_sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake();
  }

 private:
  [[nodiscard]] bool take() noexcept {
    std::uint32_t nobody = 0;
    return holder_.compare_exchange_strong(nobody, this_holder(), std::memory_order_acquire);
  }
  [[nodiscard]] bool spin() noexcept;
  // Never inlined, not even into what asks for everything inline. Throws LockLost where lost locks
  // are given up.
  [[gnu::noinline, gnu::cold]] void wait();
  [[gnu::noinline, gnu::cold]] void wake() noexcept;

  std::atomic<std::uint32_t> holder_{0};        // 0: it is free
  std::atomic<std::uint32_t> has_sleepers_{0};  // since somebody woke them last
};

using MutexLock = ScopedLock<Mutex>;

}  // namespace vramscope
