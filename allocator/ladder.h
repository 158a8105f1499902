// The ladder gets memory for a segment from the backend, and when that has none, tries what is left
// one step after the other. A new step is a line in the list of ladder.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// All that takes an Outcome unlocks. Threads: one at a time.
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
  // A block that is free (of a pool) or has not been handed out yet (a dedicated one); none: the
  // last refusal is in `out`, or what came of the request when everything was tried once more. Free
  // blocks are not searched on any step but that: what goes back is in no free list.
  [[nodiscard]] static AnyBlock obtain(State& state, Need need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // The steps that make room for memory that the program gets elsewhere. False: there was none to
  // make.
  static bool make_room(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);

 private:
  enum class Step : std::uint8_t;
  enum class Next : bool { other_step, attempt };
  [[nodiscard]] static Next take(State& state, Step step, Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool end_quarantine(State& state, const Need& need)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool release_idle(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] static AnyBlock attempt(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static AnyBlock attempt_segment(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // Is what it would come from cut into blocks, of which a free one may serve?
  [[nodiscard]] static bool is_cut(const State& state, const Need& need) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool expands(const State& state, const Need& need) VRAMSCOPE_REQUIRES(state);
  // Would it take more than the share of the device that is allowed?
  [[nodiscard]] static bool exceeds_share(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  // One segment from the backend, if the limits let it ask; out.status tells.
  [[nodiscard]] static Address reserve(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static Address ask_backend(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static AnyBlock add_segment(State& state, const Need& need, Address address)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static AnyBlock add_dedicated(State& state, const Need& need, Address address,
                                              Tag tag) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool reject(State& state, const Need& need, Outcome& out)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool fits(State& state, const PlaceMemory& place, std::uint64_t bytes,
                                 double fraction) VRAMSCOPE_REQUIRES(state);
  static void give_up(State& state, Place where, Address address) VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
