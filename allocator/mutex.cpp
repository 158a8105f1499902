// Waiting for the lock.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "allocator/kept_errno.h"

namespace vramscope {
namespace {

// Ticks of the processor's counter between two looks, first and at most: 0.2 and 10 us at 3 GHz. A
// pause instruction lasts ten times as long on some processors as on others. Who looks more often
// gets the lock after each section of the other, and every change of hands fetches the allocator's
// cache lines from another core: two threads without a pause then take 170 to 500 ns a pair, not
// 140.
constexpr std::uint64_t kFirstTicks = 512;
constexpr std::uint64_t kMostTicks = 32768;
constexpr int kLooks = 10;  // then to sleep, after some 60 us
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 50'000};

}  // namespace

bool Mutex::spin() noexcept {
  std::uint64_t ticks = kFirstTicks;
  for (int look = 0; look < kLooks; ++look) {
    for (const std::uint64_t start = __rdtsc(); __rdtsc() - start < ticks;) _mm_pause();
    ticks = std::min(ticks * 2, kMostTicks);
    if (locked_.load(std::memory_order_relaxed) == 0 &&
        locked_.exchange(1, std::memory_order_acquire) == 0) {
      return true;
    }
  }
  return false;
}

void Mutex::wait() noexcept {
  const KeptErrno kept;
  while (!spin()) {
    has_sleepers_.store(1, std::memory_order_relaxed);
    syscall(SYS_futex, &locked_, FUTEX_WAIT_PRIVATE, 1, &kSleep, nullptr, 0);
  }
}

void Mutex::wake() noexcept {
  if (has_sleepers_.exchange(0, std::memory_order_relaxed) == 0) return;
  const KeptErrno kept;
  syscall(SYS_futex, &locked_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace vramscope
