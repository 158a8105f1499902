// Gives a lock's bias to a thread, and withdraws it.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/biased_mutex.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "allocator/base/fault.h"
#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"

namespace vramscope {
namespace {

// A bias that is withdrawn becomes harder to get: the needed streak grows up to this many times the
// least.
constexpr std::uint32_t kMostStreaks = 16;
// Longer than any store takes to reach the other cores, even if the machine interrupted its thread.
constexpr timespec kLongerThanAnyStore{.tv_sec = 0, .tv_nsec = 1'000'000};
constexpr int kLooks = 64;  // at an open section, before sleeping between looks
constexpr timespec kSleep{.tv_sec = 0, .tv_nsec = 20'000};

constinit std::atomic<bool> are_prepared{false};

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Makes every thread of the process pass a full barrier. The kernel allowed it before and may
// refuse it now: because of a system call filter, or in a forked child that must register again.
void pass_barriers() noexcept {
  if (fault(Fault::bias_withdrawn_unseen)) return;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  if (errno == EPERM && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return;
  are_prepared.store(false, std::memory_order_relaxed);
  full_barrier();
  nap(kLongerThanAnyStore);
}

std::int32_t this_thread() noexcept { return static_cast<std::int32_t>(syscall(SYS_gettid)); }

// If another thread has reused its number, it seems alive.
bool is_dead(std::int32_t thread) noexcept {
  return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

// Waits between two looks at an open section.
void give_it_time(int looks) noexcept {
  if (looks < kLooks) return pause_processor();
  const KeptErrno kept;
  nap(kSleep);
}

}  // namespace

void BiasedMutex::prepare() noexcept {
  const KeptErrno kept;
  are_prepared.store(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED),
                     std::memory_order_relaxed);
}

void BiasedMutex::lock_inner() {
  inner_.lock();
  if (is_clear()) return count();
  const AwaitsLock awaits;
  for (int looks = 0; !is_clear(); ++looks) {
    const std::size_t leaving = leaving_.load(std::memory_order_relaxed);
    inner_.unlock();
    const std::uintptr_t found = seats_[leaving].load(std::memory_order_relaxed);
    if (found != 0) {
      if (GivesUpLostLocks::on() && holder_of(found) == EndingThread::holder()) throw LockLost();
      give_it_time(looks);
    }
    inner_.lock();
  }
  count();
}

bool BiasedMutex::try_lock_inner() noexcept {
  if (!inner_.try_lock()) return false;
  if (is_clear()) {
    count();
    return true;
  }
  inner_.unlock();
  return false;
}

// Whether nobody has a bias and no biased section is open, except the calling thread's own.
bool BiasedMutex::is_clear() noexcept {
  if (bias_.load(std::memory_order_relaxed) != 0) withdraw();
  const std::size_t leaving = leaving_.load(std::memory_order_relaxed);
  if (leaving == kSeats) return true;
  if (seats_[leaving].load(std::memory_order_acquire) != 0) return false;
  leaving_.store(kSeats, std::memory_order_relaxed);
  return true;
}

void BiasedMutex::withdraw() noexcept {
  const KeptErrno kept;
  leaving_.store(bias_.load(std::memory_order_relaxed) & kSeatBits, std::memory_order_relaxed);
  bias_.store(0, std::memory_order_relaxed);
  pass_barriers();
  ++withdrawals_;
  needed_streak_ = std::min(needed_streak_ * 2, least_streak_ * kMostStreaks);
}

void BiasedMutex::count() noexcept {
  const std::uint32_t self = this_holder();
  if (last_ != self) {
    last_ = self;
    streak_ = 0;
  } else if (++streak_ >= needed_streak_) {
    streak_ = 0;
    if (are_prepared.load(std::memory_order_relaxed)) give_bias();
  }
}

// The current section continues as a biased one. A signal handler that locks now finds it open.
void BiasedMutex::give_bias() noexcept {
  const KeptErrno kept;
  const std::uintptr_t block = this_control_block();
  const std::size_t seat = (block & kSeatBits) == 0 ? seat_of(block) : kSeats;
  if (seat == kSeats) return;
  seats_[seat].store(block | seat, std::memory_order_relaxed);
  bias_.store(block | seat, std::memory_order_release);
  inner_.unlock();
}

std::size_t BiasedMutex::seat_of(std::uintptr_t block) noexcept {
  const auto take = [&](auto is_free) {
    const auto found = std::find_if(sitters_.begin(), sitters_.end(), is_free);
    if (found != sitters_.end()) *found = {.block = block, .thread = this_thread()};
    return static_cast<std::size_t>(found - sitters_.begin());
  };
  std::size_t seat = take([&](const Sitter& one) { return one.block == block; });
  if (seat == kSeats) seat = take([](const Sitter& one) { return one.block == 0; });
  if (seat == kSeats) seat = take([](const Sitter& one) { return is_dead(one.thread); });
  return seat;
}

void BiasedMutex::leave_withdrawn() noexcept {
  for (std::size_t seat = 0; seat < kSeats; ++seat) {
    if (own_seat(seats_[seat].load(std::memory_order_relaxed)) == seat) {
      return seats_[seat].store(0, std::memory_order_release);
    }
  }
}

std::uint32_t BiasedMutex::holder() const noexcept {
  const std::uintptr_t bias = bias_.load(std::memory_order_relaxed);
  const std::size_t biased = bias & kSeatBits;
  const std::size_t seat = bias != 0 ? biased : leaving_.load(std::memory_order_relaxed);
  const std::uintptr_t open = seat < kSeats ? seats_[seat].load(std::memory_order_relaxed) : 0;
  if (open != 0) return holder_of(open);
  return bias != 0 ? 0 : inner_.holder();
}

}  // namespace vramscope
