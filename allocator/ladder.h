// The ladder gets memory for a segment from the backend, and when that has none, tries what is left
// one step after the other. A new step is a line in the list of ladder.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// One request's way up. All that is not const unlocks, but exceeds_share(), reject() and fits().
// Threads: one at a time.
class CachingAllocator::Ladder {
 public:
  // A segment that a request needs.
  struct Need {
    Store store = Store::pools;
    Place where;
    std::uint64_t block = 0;  // bytes of the block that is needed
    std::uint64_t bytes = 0;  // of the segment that is asked for
    std::uint64_t least = 0;  // of the smallest one that would do
    bool is_plain = false;    // a segment of its own, whatever the limits say of pages
    bool ended_quarantine = false;
  };
  // What comes of it is in `out`, which outlives the ladder.
  Ladder(const Need& need, Outcome& out) : need_(need), out_(out) {}

  // A block that is free (of a pool) or has not been handed out yet (a dedicated one); none: the
  // last refusal is in the outcome, or what came of the request when everything was tried once
  // more. Free blocks are not searched on any step but that: what goes back is in no free list.
  [[nodiscard]] AnyBlock obtain(State& state) VRAMSCOPE_REQUIRES(state);
  // The steps that make room for memory that the program gets elsewhere. False: there was none to
  // make.
  static bool make_room(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);

 private:
  enum class Step : std::uint8_t;
  enum class Next : bool { other_step, attempt };
  [[nodiscard]] Next take(State& state, Step step) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool end_quarantine(State& state) const VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool release_idle(State& state) VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] AnyBlock attempt(State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] AnyBlock attempt_segment(State& state) VRAMSCOPE_REQUIRES(state);
  // Is what it would come from cut into blocks, of which a free one may serve?
  [[nodiscard]] bool is_cut(const State& state) const VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool expands(const State& state) const VRAMSCOPE_REQUIRES(state);
  // Would it take more than the share of the device that is allowed?
  [[nodiscard]] bool exceeds_share(State& state) VRAMSCOPE_REQUIRES(state);
  // One segment from the backend, if the limits let it ask; out.status tells.
  [[nodiscard]] Address reserve(State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] Address ask_backend(State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] AnyBlock add_segment(State& state, Address address) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] AnyBlock add_dedicated(State& state, Address address) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool reject(State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool fits(State& state, const PlaceMemory& place, std::uint64_t bytes,
                                 double fraction) VRAMSCOPE_REQUIRES(state);
  static void give_up(State& state, Place where, Address address) VRAMSCOPE_REQUIRES(state);

  Need need_;
  Outcome& out_;
};

}  // namespace vramscope
