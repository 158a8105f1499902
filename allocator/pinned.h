// The steps of pinned memory under Policy::native_safe: blocks cut from segments, proved unused,
// merged, and segments that go back. Under PyTorch's policy nothing here happens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// All that takes an Outcome unlocks, but for hand_out(). Threads: one at a time.
class CachingAllocator::Pinned {
 public:
  // Whether pinned memory is kept so, instead of in PyTorch's buckets.
  [[nodiscard]] static bool is_cut(const State& state) {
    return state.policy == Policy::native_safe;
  }

  // The usual allocation and the usual free by its own function: one critical section, no step that
  // unlocks. What is unusual takes the longer way, under both policies.
  [[nodiscard]] static Outcome allocate_usually(State& state, const Request& request) noexcept;
  [[nodiscard]] static Outcome free_usually(State& state, Address address) noexcept;

  static void allocate(State& state, const Request& request, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // A segment from the backend is a free block from now on. None: there is no room for its record.
  // For a block of `rounded` bytes.
  [[nodiscard]] static AnyBlock add_segment(State& state, Place where, std::uint64_t rounded,
                                            Address address, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);
  // A block that is live or pending is free and merges: see State::make_reusable().
  static void put_back(State& state, const AnyBlock& block, std::uint64_t life, Waits::Number freed,
                       Outcome& out) VRAMSCOPE_REQUIRES(state);

  // Idle segments of a place, or of all, go back. What refuses one refuses all.
  static void release_idle(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  static void release_all_idle(State& state, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // A place that is there no longer: see CachingAllocator::forget_place().
  static void forget(State& state, Place where) VRAMSCOPE_REQUIRES(state);

 private:
  [[nodiscard]] static Outcome hand_back(State& state, BlockIndex block, std::uint64_t wait_ns)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static PinnedPlace* open(State& state, Place where) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool may_cut(const State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static Pools::Found find(const State& state, const PinnedPlace& place,
                                         std::uint64_t rounded) VRAMSCOPE_REQUIRES(state);
  static void hand_out(State& state, PinnedPlace& place, const Pools::Found& found,
                       std::uint64_t rounded, Outcome& out) VRAMSCOPE_REQUIRES(state);
  static void serve_new(State& state, std::uint64_t rounded, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  static void make_room(State& state, std::uint64_t rounded, std::uint64_t bytes, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  static void merge(State& state, const AnyBlock& block) VRAMSCOPE_REQUIRES(state);
  static void forget_blocks(State& state, const PinnedPlace& place, const PinnedSegment& segment)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static PinnedMemory::Segments::node_type set_aside(
      State& state, PinnedMemory::Segments::iterator it) VRAMSCOPE_REQUIRES(state);
  // False: the backend has it still, and so have we.
  static bool give_back(State& state, PinnedMemory::Segments::iterator it, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
