// Posted calls are usual allocations and frees whose threads found the lock taken: whoever has it
// does them before it gives it away.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocator/caching_allocator.h"

namespace vramscope {

// All that a call under the lock reads and writes lies in the caches of the core that made the last
// one; each line that another core has takes as long as some hundred instructions. So it is cheaper
// to hand the call to the thread that is there already: one line goes to it and two come back.
// Threads: any. Nobody depends on being served: who waits looks for the lock, too.
class PostedCalls {
 public:
  enum class Stage : std::uint16_t {
    unused,
    asked,
    made,      // `out` is set
    declined,  // it is no usual call: its thread has to make it
  };
  struct Waited {              // for the device, before a free
    std::uint64_t place = 0;   // packed: the only one that there was
    std::uint64_t newest = 0;  // allocation by then
    std::uint64_t ns = 0;
  };
  struct alignas(64) Call {
    std::atomic<Stage> stage{Stage::unused};
    bool is_free = false;
    bool is_over_cap = false;     // made, and its thread is to call Idle::shed()
    std::uint64_t call_time = 0;  // call_time_ns of its thread
    Address address = 0;          // of a free, as is the next
    Waited waited;
    alignas(64) Request request;  // of an allocation
    Outcome out;

    [[nodiscard]] bool is_answered() const noexcept {
      return stage.load(std::memory_order_acquire) > Stage::asked;
    }
  };

  // For the calling thread, until give_back(). Null: too many wait.
  [[nodiscard]] Call* claim() noexcept;
  void give_back(Call& call) noexcept {
    call.stage.store(Stage::unused, std::memory_order_release);
  }
  // From now on it may be answered.
  void post(Call& call) noexcept { posted_.fetch_or(bit_of(call), std::memory_order_release); }
  // True: nobody answers it any more. False: somebody is about to.
  [[nodiscard]] bool withdraw(Call& call) noexcept {
    return (posted_.fetch_and(~bit_of(call), std::memory_order_acquire) & bit_of(call)) != 0;
  }

  [[nodiscard]] bool any() const noexcept { return posted_.load(std::memory_order_relaxed) != 0; }
  // While the lock is held: answers those that are posted now, by what serve(call) gives.
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

  // Read with each call, written when calls meet.
  alignas(64) std::atomic<std::uint32_t> posted_{0};  // a bit each
  std::array<Call, kCalls> calls_;
};

}  // namespace vramscope
