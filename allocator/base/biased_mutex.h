// A biased mutex is a lock that the thread that uses it most takes without an atomic instruction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/capability.h"
#include "allocator/base/plain_mutex.h"

namespace vramscope {

// A thread that locks many times in a row gets the bias. Its critical section is then open while
// its seat says so: lock() checks that the bias is its own, writes to its seat, and checks again.
// Any other thread takes the inner lock, withdraws the bias, and makes every thread of the process
// pass a full barrier (membarrier). If the owner's second check came before the barrier, so did its
// write to the seat, and the other thread waits for it. If it came after, the owner finds no bias
// and queues at the inner lock like everybody else.
// A thread may be interrupted for any time between its first check and its write, and may write
// while another thread has the bias. So no two living threads share a seat. There are seven seats;
// a thread that finds all of them taken locks without a bias.
// A signal handler that locks while its own thread is in a critical section waits for ever, as with
// any lock. After a process has died, holder() says whose critical section was open.
// Threads: any.
class VRAMSCOPE_THREAD_ATTRIBUTE(capability("mutex")) BiasedMutex {
 public:
  // `least_streak`: how often in a row a thread must lock before it gets the bias for the first
  // time.
  constexpr explicit BiasedMutex(std::uint32_t least_streak = kLeastStreak) noexcept
      : least_streak_(least_streak), needed_streak_(least_streak) {}

  // Enables biases for the process; before this call no lock has one. Do not hold a lock: in a
  // process with several threads the kernel takes some ten milliseconds, once. If the kernel
  // refuses, no lock ever gets a bias. Async-signal-safe.
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

  // Returns the thread whose critical section is open, as numbered by this_holder(), or 0. Also
  // works on the memory that a dead process left. It may already name a thread that is just
  // entering.
  [[nodiscard]] std::uint32_t holder() const noexcept;

  // Returns how often a bias was withdrawn. For tests.
  [[nodiscard]] std::uint64_t withdrawals() const noexcept { return withdrawals_; }

 private:
  // A bias costs 3 to 5 us when it is withdrawn, and saves 5 to 10 ns each time.
  static constexpr std::uint32_t kLeastStreak = 1024;
  static constexpr std::size_t kSeats = 7;

  // Returns the calling thread's seat, or a number of no seat if the thread does not have the bias.
  // `bias` is the control block of the thread that has it, with the seat in its lowest bits, which
  // are 0 in a control block; 0: nobody has it.
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
  // Throws LockLost on a thread that skips abandoned locks.
  [[gnu::noinline]] void lock_inner() VRAMSCOPE_NO_ANALYSIS;
  [[gnu::noinline]] bool try_lock_inner() noexcept VRAMSCOPE_NO_ANALYSIS;
  void unlock_unbiased() noexcept VRAMSCOPE_NO_ANALYSIS {
    if (inner_.holder() == this_holder()) return inner_.unlock();
    leave_withdrawn();
  }
  [[gnu::noinline, gnu::cold]] void leave_withdrawn() noexcept;

  // The caller holds the inner lock for all of these.
  [[nodiscard]] bool is_clear() noexcept;
  void withdraw() noexcept;
  void count() noexcept;
  [[gnu::noinline, gnu::cold]] void give_bias() noexcept VRAMSCOPE_NO_ANALYSIS;
  [[nodiscard]] std::size_t seat_of(std::uintptr_t block) noexcept;

  // Only the thread with the bias reads and writes this cache line.
  alignas(64) std::atomic<std::uintptr_t> bias_{0};
  std::array<std::atomic<std::uintptr_t>, kSeats> seats_{};  // the bias while a section is open

  // All else is written while the inner lock is held.
  alignas(64) PlainMutex inner_;
  std::atomic<std::size_t> leaving_{
      kSeats};  // seat whose bias was withdrawn while its section was open
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
