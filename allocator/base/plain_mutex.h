// A plain mutex is a lock for critical sections of some fifty nanoseconds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/capability.h"

namespace vramscope {

// Locking costs one atomic exchange, unlocking a plain store. A waiter spins and takes an idle lock
// at once. If another thread locks it again and again, the waiter lets that thread run on with warm
// caches for 50 us, then asks it to give way, and sleeps if that does not help. An unlock may miss
// a waiter that is just going to sleep (a fence against that costs as much as a second exchange),
// so sleeps are short. Threads: any.
class VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) PlainMutex {
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
    if (wanted_.load(std::memory_order_relaxed) != Wanted::no) [[unlikely]]
      give_way();
  }

  // The thread whose critical section is open, as numbered by this_holder(); 0: none.
  [[nodiscard]] std::uint32_t holder() const noexcept {
    return holder_.load(std::memory_order_relaxed);
  }

 private:
  enum class Wanted : std::uint32_t { no, by_spinner, by_sleeper };

  [[nodiscard]] bool take() noexcept {
    std::uint32_t nobody = 0;
    return holder_.compare_exchange_strong(nobody, this_holder(), std::memory_order_acquire);
  }
  [[nodiscard]] bool take_when_idle() noexcept;
  [[nodiscard]] bool spin() noexcept;
  void sleep_while(std::uint32_t holder) noexcept;
  // Never inlined, not even into a gnu::flatten function. Throws LockLost on a thread that
  // skips abandoned locks.
  [[gnu::noinline, gnu::cold]] void wait();
  [[gnu::noinline, gnu::cold]] void give_way() noexcept;

  std::atomic<std::uint32_t> holder_{0};    // 0: it is free
  std::atomic<Wanted> wanted_{Wanted::no};  // since somebody gave way last
};

}  // namespace vramscope
