// Waiting for the lock.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "allocator/kept_errno.h"

namespace vramscope {
namespace {

constexpr int kRounds = 16;        // about 2 us of spinning
constexpr int kLongestPause = 64;  // pauses between two looks
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 50'000};

}  // namespace

bool Mutex::spin() noexcept {
  int pauses = 1;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < pauses; ++i) __builtin_ia32_pause();
    if (pauses < kLongestPause) pauses *= 2;
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
    sleepers_.fetch_add(1, std::memory_order_relaxed);
    syscall(SYS_futex, &locked_, FUTEX_WAIT_PRIVATE, 1, &kSleep, nullptr, 0);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Mutex::wake() noexcept {
  const KeptErrno kept;
  syscall(SYS_futex, &locked_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace vramscope
