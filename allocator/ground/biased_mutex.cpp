// Giving a lock's bias to a thread, and taking it back.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/biased_mutex.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "allocator/ground/fault.h"
#include "allocator/ground/kept_errno.h"

namespace vramscope {
namespace {

// A lock that changes hands often is given away less and less often: up to so many times the least.
constexpr std::uint32_t kMostStreaks = 16;
// A store reaches the other cores long before; also one of a thread that the machine interrupted.
constexpr timespec kLongerThanAnyStore{.tv_sec = 0, .tv_nsec = 1'000'000};
constexpr int kLooks = 64;

constinit std::atomic<bool> are_prepared{false};

bool membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Every thread of the process passes a full barrier. A kernel that refuses it now did not before
// (a filter of system calls; a forked child that has to register again).
void pass_barriers() noexcept {
  if (fault(Fault::bias_withdrawn_unseen)) return;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  if (errno == EPERM && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return;
  are_prepared.store(false, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  nanosleep(&kLongerThanAnyStore, nullptr);
}

std::int32_t this_thread() noexcept { return static_cast<std::int32_t>(syscall(SYS_gettid)); }

// Another thread may have its number meanwhile; then it seems alive.
bool is_dead(std::int32_t thread) noexcept {
  return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

}  // namespace

void BiasedMutex::prepare() noexcept {
  const KeptErrno kept;
  are_prepared.store(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED),
                     std::memory_order_relaxed);
}

void BiasedMutex::lock_inner() {
  const std::uint32_t self = this_holder();
  for (int looks = 0;; ++looks) {
    inner_.lock();
    if (is_clear()) return count(self);
    const std::atomic<std::uint32_t>& seat = seats_[leaving_.load(std::memory_order_relaxed)];
    inner_.unlock();
    const std::uint32_t found = seat.load(std::memory_order_relaxed);
    if (found == 0) continue;
    if (GivesUpLostLocks::on() && found == EndingThread::holder()) throw LockLost();
    if (looks < kLooks) {
      __builtin_ia32_pause();
    } else {
      PlainMutex::sleep_while(seat, found);
    }
  }
}

bool BiasedMutex::try_lock_inner() noexcept {
  if (!inner_.try_lock()) return false;
  const std::uint32_t self = this_holder();
  if (is_clear()) {
    count(self);
    return true;
  }
  inner_.unlock();
  return false;
}

// Nobody has a bias, and no section is open that one began. The thread's own may be.
bool BiasedMutex::is_clear() noexcept {
  if (bias_.load(std::memory_order_relaxed) != 0) withdraw();
  const std::uint32_t leaving = leaving_.load(std::memory_order_relaxed);
  if (leaving == kNoSeat) return true;
  if (seats_[leaving].load(std::memory_order_acquire) != 0) return false;
  leaving_.store(kNoSeat, std::memory_order_relaxed);
  return true;
}

void BiasedMutex::withdraw() noexcept {
  const KeptErrno kept;
  const Bias bias{bias_.load(std::memory_order_relaxed)};
  leaving_.store(static_cast<std::uint32_t>(bias.seat()), std::memory_order_relaxed);
  bias_.store(0, std::memory_order_relaxed);
  pass_barriers();
  ++withdrawals_;
  needed_streak_ = std::min(needed_streak_ * 2, least_streak_ * kMostStreaks);
}

void BiasedMutex::count(std::uint32_t self) noexcept {
  if (last_ != self) {
    last_ = self;
    streak_ = 0;
  } else if (++streak_ >= needed_streak_) {
    streak_ = 0;
    if (are_prepared.load(std::memory_order_relaxed)) give_bias(self);
  }
}

// The section goes on as one of the bias: a signal handler that comes in now finds it open.
void BiasedMutex::give_bias(std::uint32_t self) noexcept {
  const KeptErrno kept;
  const std::uint32_t seat = seat_of(self);
  if (seat == kNoSeat) return;
  seats_[seat].store(self, std::memory_order_relaxed);
  bias_.store(std::uint64_t{seat} << 32 | self, std::memory_order_release);
  inner_.unlock();
}

std::uint32_t BiasedMutex::seat_of(std::uint32_t self) noexcept {
  const auto take = [&](auto is_free) {
    const auto found = std::find_if(sitters_.begin(), sitters_.end(), is_free);
    if (found == sitters_.end()) return kNoSeat;
    *found = {.holder = self, .thread = this_thread()};
    return static_cast<std::uint32_t>(found - sitters_.begin());
  };
  std::uint32_t seat = take([&](const Sitter& one) { return one.holder == self; });
  if (seat == kNoSeat) seat = take([](const Sitter& one) { return one.holder == 0; });
  if (seat == kNoSeat) seat = take([](const Sitter& one) { return is_dead(one.thread); });
  return seat;
}

void BiasedMutex::leave_withdrawn() noexcept {
  const std::uint32_t self = this_holder();
  for (std::atomic<std::uint32_t>& seat : seats_) {
    if (seat.load(std::memory_order_relaxed) == self) {
      return seat.store(0, std::memory_order_release);
    }
  }
}

std::uint32_t BiasedMutex::holder() const noexcept {
  const Bias bias{bias_.load(std::memory_order_relaxed)};
  if (bias.word != 0) return seats_[bias.seat() % kSeats].load(std::memory_order_relaxed);
  const std::uint32_t leaving = leaving_.load(std::memory_order_relaxed);
  const std::uint32_t left = leaving < kSeats ? seats_[leaving].load(std::memory_order_relaxed) : 0;
  if (left != 0) return left;
  return inner_.holder();
}

}  // namespace vramscope
