// The annotations by which clang checks who holds which lock, and the C library's lock with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/fork_locks.h"

#if defined(__clang__)
#define VRAMSCOPE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define VRAMSCOPE_THREAD_ATTRIBUTE(x)
#endif
#define VRAMSCOPE_GUARDED_BY(m) VRAMSCOPE_THREAD_ATTRIBUTE(guarded_by(m))
#define VRAMSCOPE_REQUIRES(...) VRAMSCOPE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define VRAMSCOPE_ACQUIRE(...) VRAMSCOPE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define VRAMSCOPE_RELEASE(...) VRAMSCOPE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define VRAMSCOPE_NO_ANALYSIS VRAMSCOPE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace vramscope {

// How many SystemMutexes the thread holds or waits for. Who left code of ours without returning
// from it (longjmp from a signal handler) may hold them for ever.
__attribute__((tls_model(
    "initial-exec"))) inline constinit thread_local volatile unsigned system_locks_held = 0;

// std::mutex for members that are off the fast path: waiters sleep at once. Mutex (mutex.h) is for
// the others. Threads: any.
class VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) SystemMutex {
 public:
  void lock() VRAMSCOPE_ACQUIRE() {
    system_locks_held = system_locks_held + 1;
    if (GivesUpLostLocks::on()) return lock_or_give_up();
    locking_ = this;
    mutex_.lock();
    note_locked();
  }
  void unlock() VRAMSCOPE_RELEASE() {
    locking_ = this;
    holder_.store(0, std::memory_order_relaxed);
    mutex_.unlock();
    locking_ = nullptr;
    system_locks_held = system_locks_held - 1;
  }

 private:
  // Throws LockLost when the thread that ends the process seems to hold it.
  void lock_or_give_up() VRAMSCOPE_NO_ANALYSIS;

  void note_locked() noexcept {
    holder_.store(this_holder(), std::memory_order_relaxed);
    locking_ = nullptr;
  }
  static const ForkLock::Ways kOverFork;
  [[nodiscard]] static ForkLock::Owner owner_of(const void* lock) noexcept;

  // What the thread takes or waits for.
  __attribute__((tls_model(
      "initial-exec"))) static inline constinit thread_local const SystemMutex* volatile locking_ =
      nullptr;

  std::mutex mutex_;
  std::atomic<std::uint32_t> holder_{0};  // as this_holder() numbers threads; 0: nobody
  const ForkLock over_fork_{kOverFork, this};
};

// Holds a lock of either kind for a scope.
template <class Lockable>
class VRAMSCOPE_THREAD_ATTRIBUTE(scoped_lockable) ScopedLock {
 public:
  explicit ScopedLock(Lockable& mutex) VRAMSCOPE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~ScopedLock() VRAMSCOPE_RELEASE() { mutex_.unlock(); }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

 private:
  Lockable& mutex_;
};

using SystemLock = ScopedLock<SystemMutex>;

}  // namespace vramscope
