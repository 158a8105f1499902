// Waits for a lock of the C library that may be abandoned.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/capability.h"

#include <ctime>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"

namespace vramscope {
namespace {

// Our sections are short: a lock that is not free within 20 ms, while the ending thread may hold
// one, counts as abandoned.
constexpr int kMostLooks = 100;
constexpr timespec kPauseOfLooks{.tv_sec = 0, .tv_nsec = 200'000};

}  // namespace

void SystemMutex::lock_or_give_up() {
  const KeptErrno kept;
  locking_ = this;
  const AwaitsLock awaits;
  int looks = 0;
  while (!mutex_.try_lock()) {
    looks = EndingThread::may_hold_system_locks() ? looks + 1 : 0;
    if (looks > kMostLooks) {
      system_locks_held = system_locks_held - 1;
      locking_ = nullptr;
      throw LockLost();
    }
    nap(kPauseOfLooks);
  }
  note_locked();
}

ForkLock::Owner SystemMutex::owner_of(const void* lock) noexcept {
  const auto* const mutex = static_cast<const SystemMutex*>(lock);
  if (mutex->holder_.load(std::memory_order_relaxed) == this_holder()) return ForkLock::Owner::self;
  return locking_ == mutex ? ForkLock::Owner::maybe_self : ForkLock::Owner::other;
}

const ForkLock::Ways SystemMutex::kOverFork = {
    .try_lock =
        [](void* lock) noexcept { return static_cast<SystemMutex*>(lock)->mutex_.try_lock(); },
    .unlock = [](void* lock) noexcept { static_cast<SystemMutex*>(lock)->mutex_.unlock(); },
    .owner = owner_of};

}  // namespace vramscope
