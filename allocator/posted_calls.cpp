// Assigns posted calls to threads.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/posted_calls.h"

#include "allocator/base/machine.h"

namespace vramscope {

// Claims the same call as the last time if possible, whose cache lines are here.
PostedCalls::Call* PostedCalls::claim() noexcept {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: Fibonacci hashing
  const std::size_t first = this_control_block() * kGolden >> (64 - kCallBits);
  for (std::size_t i = 0; i < kCalls; ++i) {
    Call& call = calls_[(first + i) % kCalls];
    Stage stage = call.stage.load(std::memory_order_relaxed);
    if (stage == Stage::unused &&
        call.stage.compare_exchange_strong(stage, Stage::asked, std::memory_order_acquire))
      return &call;
  }
  return nullptr;
}

}  // namespace vramscope
