// The lock for short critical sections. It is biased to one thread if the build and the kernel
// support that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/capability.h"
#include "allocator/base/fork_locks.h"

// The thread sanitizer does not know the ordering of membarrier.
#if defined(VRAMSCOPE_NO_BIAS) || defined(__SANITIZE_THREAD__)
#include "allocator/base/plain_mutex.h"
#else
#include "allocator/base/biased_mutex.h"
#endif

namespace vramscope {

#if defined(VRAMSCOPE_NO_BIAS) || defined(__SANITIZE_THREAD__)
using Mutex = PlainMutex;
inline void prepare_biases() noexcept {}
#else
using Mutex = BiasedMutex;
// Enables biases: see BiasedMutex::prepare(). Do not hold a lock.
inline void prepare_biases() noexcept { BiasedMutex::prepare(); }
#endif

using MutexLock = ScopedLock<Mutex>;

// How a fork during one of our calls takes a Mutex.
struct MutexOverFork {
  static bool try_lock(void* lock) noexcept VRAMSCOPE_NO_ANALYSIS {
    return static_cast<Mutex*>(lock)->try_lock();
  }
  static void unlock(void* lock) noexcept VRAMSCOPE_NO_ANALYSIS {
    static_cast<Mutex*>(lock)->unlock();
  }
  static ForkLock::Owner owner(const void* lock) noexcept {
    const bool is_own = static_cast<const Mutex*>(lock)->holder() == this_holder();
    return is_own ? ForkLock::Owner::self : ForkLock::Owner::other;
  }
  static constexpr ForkLock::Ways kWays{.try_lock = try_lock, .unlock = unlock, .owner = owner};
};

}  // namespace vramscope
