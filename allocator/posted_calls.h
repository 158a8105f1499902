// Posted calls are fast-path allocations and frees whose threads found the lock taken. The thread
// that has the lock makes them before it unlocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocator/caching_allocator.h"

namespace vramscope {

// The memory that a call uses lies in the caches of the core that made the last call, and fetching
// a line from another core takes as long as a hundred instructions. So it is cheaper to hand the
// call to the thread that has the lock: one cache line goes to it and two come back. Threads: any.
// A waiting thread also tries to take the lock, so it does not depend on being served.
class PostedCalls {
 public:
  enum class Stage : std::uint16_t {
    unused,
    asked,
    made,      // `out` is set
    declined,  // it is not for the fast path: its own thread must make it
  };
  struct Waited {              // the wait for the device before a free
    std::uint64_t place = 0;   // packed: the only place that existed
    std::uint64_t newest = 0;  // number of the newest allocation then
    std::uint64_t ns = 0;
  };
  struct alignas(64) Call {
    std::atomic<Stage> stage{Stage::unused};
    bool is_free = false;
    bool is_over_cap = false;     // if made: its thread must call Idle::shed()
    std::uint64_t call_time = 0;  // call_time_ns of its thread
    Address address = 0;          // of a free, like the next
    Waited waited;
    alignas(64) Request request;  // of an allocation
    Outcome out;

    [[nodiscard]] bool is_answered() const noexcept {
      return stage.load(std::memory_order_acquire) > Stage::asked;
    }
  };

  // Returns a call for the calling thread, until give_back(); null if too many threads wait.
  [[nodiscard]] Call* claim() noexcept;
  void give_back(Call& call) noexcept {
    call.stage.store(Stage::unused, std::memory_order_release);
  }
  // Posts a call, which may be answered from now on.
  void post(Call& call) noexcept { posted_.fetch_or(bit_of(call), std::memory_order_release); }
  // Withdraws a call. Returns false if the thread with the lock is about to answer it.
  [[nodiscard]] bool withdraw(Call& call) noexcept {
    return (posted_.fetch_and(~bit_of(call), std::memory_order_acquire) & bit_of(call)) != 0;
  }

  [[nodiscard]] bool any() const noexcept { return posted_.load(std::memory_order_relaxed) != 0; }
  // Answers the posted calls with the result of serve(call). The caller holds the lock.
  template <class Serve>
  void answer(Serve serve) noexcept {
    const std::uint32_t all = posted_.exchange(0, std::memory_order_acquire);
    for (std::uint32_t left = all; left != 0; left &= left - 1) {
      __builtin_prefetch(&calls_[static_cast<std::size_t>(std::countr_zero(left))]);
    }
    for (std::uint32_t left = all; left != 0; left &= left - 1) {
      Call& call = calls_[static_cast<std::size_t>(std::countr_zero(left))];
      const Stage stage = serve(call);
      call.stage.store(stage, std::memory_order_release);
    }
  }

 private:
  static constexpr unsigned kCallBits = 4;
  static constexpr std::size_t kCalls = std::size_t{1} << kCallBits;

  [[nodiscard]] std::uint32_t bit_of(const Call& call) const noexcept {
    return std::uint32_t{1} << (&call - calls_.data());
  }

  // Read with each call, written when threads compete.
  alignas(64) std::atomic<std::uint32_t> posted_{0};  // a bit each
  std::array<Call, kCalls> calls_;
};

}  // namespace vramscope
