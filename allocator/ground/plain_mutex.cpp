// Waiting for the lock, and giving way to those who wait.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/plain_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <ctime>

#include "allocator/ground/kept_errno.h"

namespace vramscope {
namespace {

// Two threads that do nothing else would change hands after each section, and every change fetches
// the allocator's cache lines from another core, which takes some 10 us. So who waits takes only a
// lock that seems to lie idle, free in a few looks in a row, until it has waited for long; then it
// asks whoever unlocks to give way. Looks come seldom, as each takes the line from who has the
// lock.
constexpr std::uint64_t kFirstGapNs = 250;  // before the first looks; the next gap is twice as long
constexpr std::uint64_t kUnaskedNs = 50'000;  // after that the lock is asked for
constexpr int kLooksInARow = 4;
constexpr std::uint64_t kBetweenLooksNs = 40;
constexpr std::uint64_t kEagerNs = 20'000;  // of asking; then to sleep
constexpr int kEagerPauses = 4;             // between two looks of that; 12 to 180 ns
constexpr int kPausesGivenWay = 64;         // by whoever unlocks, for a waiter's look to fall into
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 50'000};

void pause(int times) noexcept {
  for (int i = 0; i < times; ++i) pause_processor();
}

std::uint64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void pause_until(std::uint64_t ns) noexcept {
  do pause(1);
  while (now_ns() < ns);
}

}  // namespace

bool PlainMutex::take_when_idle() noexcept {
  for (int look = 0; look < kLooksInARow; ++look) {
    if (holder_.load(std::memory_order_relaxed) != 0) return false;
    pause_until(now_ns() + kBetweenLooksNs);
  }
  return take();
}

bool PlainMutex::spin() noexcept {
  const std::uint64_t begin = now_ns();
  for (std::uint64_t waited = kFirstGapNs; waited < kUnaskedNs; waited *= 2) {
    pause_until(begin + waited);
    if (take_when_idle()) return true;
  }
  pause_until(begin + kUnaskedNs);
  const std::uint64_t end = now_ns() + kEagerNs;
  do {
    if (wanted_.load(std::memory_order_relaxed) == Wanted::no) {
      wanted_.store(Wanted::by_spinner, std::memory_order_relaxed);
    }
    pause(kEagerPauses);
    if (holder_.load(std::memory_order_relaxed) == 0 && take()) return true;
  } while (now_ns() < end);
  return false;
}

void PlainMutex::sleep_while(std::uint32_t holder) noexcept {
  const KeptErrno kept;
  syscall(SYS_futex, &holder_, FUTEX_WAIT_PRIVATE, holder, &kSleep, nullptr, 0);
}

// Of a lock that its holder will not unlock, the holder's name stays in it.
void PlainMutex::wait() {
  const AwaitsLock awaits;
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
