// A lock that the thread that uses it all the time takes without an atomic instruction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/ground/capability.h"
#include "allocator/ground/lost_locks.h"
#include "allocator/ground/plain_mutex.h"

namespace vramscope {

// Who locks many times in a row gets the bias. Its section is then open while its seat says so:
// lock() looks whether the bias is its own, writes to its seat, and looks once more. Whoever else
// wants the lock takes the inner one, withdraws the bias, and has every thread of the process pass
// a full barrier (membarrier). A thread that looked the second time before that has written to its
// seat before it too, and is waited for; one that looks after it finds no bias, and queues at the
// inner lock like everybody else.
// A thread may be interrupted between its first look and its writing for any time, and write
// while the bias is another's. So no two threads share a seat, unless one of them is dead. There
// are seven: a thread that finds all taken locks without a bias.
// Who comes in while the same thread is amid a section (a signal handler) waits for ever, as with
// any lock. What is read after a process's death says whose section was open: see holder().
// Threads: any.
class VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) BiasedMutex {
 public:
  // `least_streak`: so often in a row a thread locks before it gets the bias, the first time.
  constexpr explicit BiasedMutex(std::uint32_t least_streak = kLeastStreak) noexcept
      : least_streak_(least_streak), needed_streak_(least_streak) {}

  // Until the process has called this, no lock has a bias. Not under a lock: in a process of
  // several threads the kernel takes some ten milliseconds, once. Where it refuses, nothing has a
  // bias ever. Async-signal-safe.
  static void prepare() noexcept;

  void lock() VRAMSCOPE_ACQUIRE() VRAMSCOPE_NO_ANALYSIS {
    if (!enter_by_bias()) [[unlikely]]
      lock_inner();
  }
  [[nodiscard]] bool try_lock()
      VRAMSCOPE_THREAD_ATTRIBUTE(try_acquire_capability(true)) VRAMSCOPE_NO_ANALYSIS {
    return enter_by_bias() || try_lock_inner();
  }
  void unlock() VRAMSCOPE_RELEASE() VRAMSCOPE_NO_ANALYSIS {
    const std::size_t seat = own_seat(bias_.load(std::memory_order_relaxed));
    if (seat < kSeats) [[likely]] {
      seats_[seat].store(0, std::memory_order_release);
    } else {
      unlock_unbiased();
    }
  }

  // Whose section is open, as this_holder() numbers threads; 0: nobody's. Also of the memory that a
  // process left behind. A thread that is just going in may be named already.
  [[nodiscard]] std::uint32_t holder() const noexcept;

  // How often a bias was withdrawn. For tests.
  [[nodiscard]] std::uint64_t withdrawals() const noexcept { return withdrawals_; }

 private:
  // A bias costs 3 to 5 us when it is withdrawn, and saves 5 to 10 ns each time.
  static constexpr std::uint32_t kLeastStreak = 1024;
  static constexpr std::size_t kSeats = 7;

  // `bias`: the control block of the thread that has it, of which the lowest bits are 0, and in
  // those its seat; 0: nobody has it. The calling thread's seat; no number of a seat: it has none.
  [[nodiscard]] static std::size_t own_seat(std::uintptr_t bias) noexcept {
    return bias ^ this_control_block();
  }
  static constexpr std::uintptr_t kSeatBits = 63;

  [[nodiscard]] bool enter_by_bias() noexcept {
    const std::uintptr_t bias = bias_.load(std::memory_order_relaxed);
    const std::size_t own = own_seat(bias);
    if (own >= kSeats) [[unlikely]]
      return false;
    std::atomic<std::uintptr_t>& seat = seats_[own];
    if (seat.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return false;
    seat.store(bias, std::memory_order_relaxed);
    // The compiler keeps the order; the processor need not, and membarrier makes up for that.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (bias_.load(std::memory_order_acquire) == bias) [[likely]]
      return true;
    seat.store(0, std::memory_order_release);
    return false;
  }
  // Throws LockLost where lost locks are given up.
  [[gnu::noinline]] void lock_inner() VRAMSCOPE_NO_ANALYSIS;
  [[gnu::noinline]] bool try_lock_inner() noexcept VRAMSCOPE_NO_ANALYSIS;
  void unlock_unbiased() noexcept VRAMSCOPE_NO_ANALYSIS {
    if (inner_.holder() == this_holder()) return inner_.unlock();
    leave_withdrawn();
  }
  [[gnu::noinline, gnu::cold]] void leave_withdrawn() noexcept;

  // All of these while the inner lock is held.
  [[nodiscard]] bool is_clear() noexcept;
  void withdraw() noexcept;
  void count() noexcept;
  [[gnu::noinline, gnu::cold]] void give_bias() noexcept VRAMSCOPE_NO_ANALYSIS;
  [[nodiscard]] std::size_t seat_of(std::uintptr_t block) noexcept;

  // One line that a thread with the bias reads and writes, and nobody else.
  alignas(64) std::atomic<std::uintptr_t> bias_{0};
  std::array<std::atomic<std::uintptr_t>, kSeats> seats_{};  // the bias while a section is open

  // All else is written under the inner lock.
  alignas(64) PlainMutex inner_;
  std::atomic<std::size_t> leaving_{kSeats};  // its bias is withdrawn, its section was open
  const std::uint32_t least_streak_;
  std::uint32_t needed_streak_;  // more after each withdrawal
  std::uint32_t last_ = 0;       // holder that locked last, and how often in a row
  std::uint32_t streak_ = 0;
  std::uint64_t withdrawals_ = 0;
  struct Sitter {
    std::uintptr_t block = 0;  // 0: the seat is free
    std::int32_t thread = 0;   // the kernel's number of it
  };
  std::array<Sitter, kSeats> sitters_{};
};

}  // namespace vramscope
