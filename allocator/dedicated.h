// Dedicated serves requests by blocks that have a segment to themselves: device memory that can be
// exported, and pinned memory under PyTorch's policy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/mutex.h"
#include "allocator/caching_allocator.h"
#include "allocator/dedicated/dedicated_blocks.h"

namespace vramscope {

// Every function that takes an Outcome unlocks, except hand_out(). Threads: one at a time.
class CachingAllocator::Dedicated {
 public:
  [[nodiscard]] DedicatedBlocks& of(Kind kind) { return kind == Kind::pinned ? pinned_ : device_; }
  [[nodiscard]] const DedicatedBlocks& of(Kind kind) const {
    return kind == Kind::pinned ? pinned_ : device_;
  }

  void allocate(State& state, const Request& request, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // Frees a block, or gives it back to the backend and returns its answer.
  Status store(State& state, DedicatedBlock& block, Outcome& out) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] DedicatedBlock* set_apart(State& state, Address segment) VRAMSCOPE_REQUIRES(state);
  // Drops a place that no longer exists: see CachingAllocator::forget_place().
  void forget(State& state, Place where) VRAMSCOPE_REQUIRES(state);

 private:
  static void hand_out(State& state, DedicatedBlock& block, Outcome& out) VRAMSCOPE_REQUIRES(state);

  DedicatedBlocks device_;
  DedicatedBlocks pinned_;  // Policy::pytorch
};

}  // namespace vramscope
