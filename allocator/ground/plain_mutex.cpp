// Waiting for the lock, and giving way to those who wait.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/plain_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "allocator/ground/kept_errno.h"

namespace vramscope {
namespace {

// Pauses between two looks; a pause takes 3 to 45 ns, by processor. Who looks more often gets the
// lock after each section of the other, and every change of hands fetches the allocator's cache
// lines from another core: two threads that do nothing else then take 170 to 500 ns a pair, not
// 140.
constexpr int kFirstPauses = 32;
constexpr int kMostPauses = 512;     // after them, 3 to 45 us in all, the lock is asked for
constexpr int kEagerPauses = 4;      // between two looks from then on
constexpr int kEagerLooks = 128;     // 1.5 to 25 us; then to sleep
constexpr int kPausesGivenWay = 64;  // by whoever unlocks, for a waiter's look to fall into
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 50'000};

void pause(int times) noexcept {
  for (int i = 0; i < times; ++i) __builtin_ia32_pause();
}

}  // namespace

bool PlainMutex::take_when_free(int pauses) noexcept {
  pause(pauses);
  return holder_.load(std::memory_order_relaxed) == 0 && take();
}

bool PlainMutex::spin() noexcept {
  for (int pauses = kFirstPauses; pauses <= kMostPauses; pauses *= 2) {
    if (take_when_free(pauses)) return true;
  }
  for (int look = 0; look < kEagerLooks; ++look) {
    if (wanted_.load(std::memory_order_relaxed) == Wanted::no) {
      wanted_.store(Wanted::by_spinner, std::memory_order_relaxed);
    }
    if (take_when_free(kEagerPauses)) return true;
  }
  return false;
}

void PlainMutex::sleep_while(std::uint32_t holder) noexcept {
  const KeptErrno kept;
  syscall(SYS_futex, &holder_, FUTEX_WAIT_PRIVATE, holder, &kSleep, nullptr, 0);
}

// Of a lock that its holder will not unlock, the holder's name stays in it.
void PlainMutex::wait() {
  while (!spin()) {
    const std::uint32_t found = holder();
    if (found == 0) continue;
    if (GivesUpLostLocks::on() && found == EndingThread::holder()) throw LockLost();
    wanted_.store(Wanted::by_sleeper, std::memory_order_relaxed);
    sleep_while(found);
  }
}

// Whoever unlocks is likely to lock again before a waiter of another core has seen it free.
void PlainMutex::give_way() noexcept {
  if (wanted_.exchange(Wanted::no, std::memory_order_relaxed) == Wanted::by_sleeper) {
    const KeptErrno kept;
    syscall(SYS_futex, &holder_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  for (int i = 0; i < kPausesGivenWay && holder() == 0; ++i) pause(1);
}

}  // namespace vramscope
