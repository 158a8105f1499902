// Locks that nobody will ever unlock: a signal handler that ends the process may have interrupted
// its own thread amid a section of ours. Whoever writes the last report does not wait for those.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "allocator/base/machine.h"

namespace vramscope {

// A lock throws it to a thread that gives lost locks up (GivesUpLostLocks): what it protects stays
// unread, and the thread does not hold it.
class LockLost : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "a lock will not be free"; }
};

// A thread as the holder of a lock: never 0, and of each living thread another one, since control
// blocks are farther apart than 64 bytes.
[[nodiscard]] inline std::uint32_t holder_of(std::uintptr_t control_block) noexcept {
  return static_cast<std::uint32_t>(control_block >> 6) | 1U;
}
[[nodiscard]] inline std::uint32_t this_holder() noexcept {
  return holder_of(this_control_block());
}

// The thread that ends the process, from now on for as long as this lives: it waits for the last
// report, and unlocks nothing meanwhile. Threads: one at a time, that thread.
class EndingThread {
 public:
  // amid_call: it had entered code of ours, from which it has not returned. holds_system_locks: as
  // system_locks_held says (capability.h).
  EndingThread(bool amid_call, bool holds_system_locks) noexcept;
  ~EndingThread();
  EndingThread(const EndingThread&) = delete;
  EndingThread& operator=(const EndingThread&) = delete;

  // 0: there is none.
  [[nodiscard]] static std::uint32_t holder() noexcept {
    return holder_.load(std::memory_order_acquire);
  }
  // It may hold a SystemMutex; it had entered code of ours.
  [[nodiscard]] static bool may_hold_system_locks() noexcept {
    return holds_system_locks_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] static bool is_amid_call() noexcept {
    return amid_call_.load(std::memory_order_relaxed);
  }

 private:
  static constinit std::atomic<std::uint32_t> holder_;
  static constinit std::atomic<bool> holds_system_locks_;
  static constinit std::atomic<bool> amid_call_;
};

// While it lives, locks that the ending thread holds are given up on this thread (LockLost).
// Threads: one, the calling thread.
class GivesUpLostLocks {
 public:
  GivesUpLostLocks() noexcept : before_(on_) { on_ = true; }
  ~GivesUpLostLocks() { on_ = before_; }
  GivesUpLostLocks(const GivesUpLostLocks&) = delete;
  GivesUpLostLocks& operator=(const GivesUpLostLocks&) = delete;

  [[nodiscard]] static bool on() noexcept { return on_; }

 private:
  __attribute__((tls_model("initial-exec"))) static inline constinit thread_local bool on_ = false;
  const bool before_;
};

// While it lives, a thread that gives lost locks up waits for a lock: what it uses of the processor
// meanwhile, as locks are looked at for a while before a thread sleeps, brings it no further.
// Threads: one, the calling thread.
class AwaitsLock {
 public:
  AwaitsLock() noexcept : before_(here_) { tell(here_ || GivesUpLostLocks::on()); }
  ~AwaitsLock() { tell(before_); }
  AwaitsLock(const AwaitsLock&) = delete;
  AwaitsLock& operator=(const AwaitsLock&) = delete;

  // Such a thread waits. Threads: any.
  [[nodiscard]] static bool on() noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  static void tell(bool waits) noexcept {
    if (waits == here_) return;
    here_ = waits;
    waiting_.fetch_add(waits ? 1 : -1, std::memory_order_relaxed);
  }
  __attribute__((tls_model("initial-exec"))) static inline constinit thread_local bool here_ =
      false;
  static constinit std::atomic<int> waiting_;  // threads
  const bool before_;
};

}  // namespace vramscope
