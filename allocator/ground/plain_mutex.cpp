// Waiting for the lock.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "allocator/ground/kept_errno.h"

namespace vramscope {
namespace {

// Pauses between two looks, first and at most; a pause takes 3 to 45 ns, by processor. Who looks
// more often gets the lock after each section of the other, and every change of hands fetches the
// allocator's cache lines from another core: two threads that do nothing else then take 170 to
// 500 ns a pair, not 140.
constexpr int kFirstPauses = 16;
constexpr int kMostPauses = 512;
constexpr int kLooks = 8;  // then to sleep, after 6 to 90 us
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 50'000};

}  // namespace

bool Mutex::spin() noexcept {
  int pauses = kFirstPauses;
  for (int look = 0; look < kLooks; ++look) {
    for (int i = 0; i < pauses; ++i) __builtin_ia32_pause();
    pauses = std::min(pauses * 2, kMostPauses);
    if (holder_.load(std::memory_order_relaxed) == 0 && take()) return true;
  }
  return false;
}

// Of a lock that its holder will not unlock, the holder's name stays in it.
void Mutex::wait() {
  const KeptErrno kept;
  while (!spin()) {
    const std::uint32_t holder = holder_.load(std::memory_order_relaxed);
    if (holder == 0) continue;
    if (GivesUpLostLocks::on() && holder == EndingThread::holder()) throw LockLost();
    has_sleepers_.store(1, std::memory_order_relaxed);
    syscall(SYS_futex, &holder_, FUTEX_WAIT_PRIVATE, holder, &kSleep, nullptr, 0);
  }
}

void Mutex::wake() noexcept {
  if (has_sleepers_.exchange(0, std::memory_order_relaxed) == 0) return;
  const KeptErrno kept;
  syscall(SYS_futex, &holder_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace vramscope
