// Waits for the lock, and gives way to waiters.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/plain_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <ctime>

#include "allocator/base/kept_errno.h"

namespace vramscope {
namespace {

// Two threads that do nothing else would exchange the lock after each section, and every exchange
// fetches the allocator's cache lines from another core, which takes some 10 us. So a waiter takes
// the lock only if it seems idle, which means free in a few looks in a row. After a long wait it
// asks the thread that unlocks to give way. Looks are rare, because each takes the cache line from
// the holder.
constexpr std::uint64_t kFirstGapNs = 250;    // before the first looks; each gap doubles
constexpr std::uint64_t kUnaskedNs = 50'000;  // after that the waiter asks for the lock
constexpr int kLooksInARow = 4;
constexpr std::uint64_t kBetweenLooksNs = 40;
constexpr std::uint64_t kEagerNs = 20'000;  // of asking, before it sleeps
constexpr int kEagerPauses = 4;             // between two looks while asking; 12 to 180 ns
constexpr int kPausesGivenWay =
    64;  // by the unlocking thread, so that a waiter's look falls into them
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

// An abandoned lock keeps its holder's number.
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

// Without this the unlocking thread would probably lock again before a waiter on another core has
// seen the lock free.
void PlainMutex::give_way() noexcept {
  if (wanted_.exchange(Wanted::no, std::memory_order_relaxed) == Wanted::by_sleeper) {
    const KeptErrno kept;
    syscall(SYS_futex, &holder_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  for (int i = 0; i < kPausesGivenWay && holder() == 0; ++i) pause(1);
}

}  // namespace vramscope
