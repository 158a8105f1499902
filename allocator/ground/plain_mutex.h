// A lock made for sections of some fifty nanoseconds: one atomic exchange, and waiters that spin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/ground/capability.h"
#include "allocator/ground/lost_locks.h"

namespace vramscope {

// For sections of some fifty nanoseconds that are entered millions of times: one atomic exchange
// to lock, a plain store to unlock. A waiter takes a lock that lies idle at once; from one who
// locks it again and again it takes it after 50 us, so that this one runs on with warm caches: it
// asks whoever unlocks to give way, and sleeps when that did not help. Unlocking may miss waiters
// that are just going to sleep (a fence that would prevent it costs as much as a second exchange),
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

  // Whose section is open, as this_holder() numbers threads; 0: nobody's.
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
  // Never inlined, not even into what asks for everything inline. Throws LockLost where lost locks
  // are given up.
  [[gnu::noinline, gnu::cold]] void wait();
  [[gnu::noinline, gnu::cold]] void give_way() noexcept;

  std::atomic<std::uint32_t> holder_{0};    // 0: it is free
  std::atomic<Wanted> wanted_{Wanted::no};  // since somebody gave way last
};

}  // namespace vramscope
