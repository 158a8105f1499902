// The ladder gets memory for a segment from the backend. If the backend has none, it tries one step
// after the other to make room. A new step is a line in the list of ladder.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// The steps for one request. Every non-const function unlocks, except exceeds_share(), reject() and
// fits(). Threads: one at a time.
class CachingAllocator::Ladder {
 public:
  // The segment that a request needs.
  struct Need {
    Store store = Store::pools;
    Place where;
    std::uint64_t block = 0;  // bytes of the block
    std::uint64_t bytes = 0;  // bytes of the segment to request
    std::uint64_t least = 0;  // bytes of the smallest segment that would do
    bool is_plain = false;    // a plain segment, even if limits ask for pages
    bool ended_quarantine = false;
  };
  // The result goes to `out`, which outlives the ladder.
  Ladder(const Need& need, Outcome& out) : need_(need), out_(out) {}

  // Returns a block that is free (of a pool) or not yet handed out (dedicated). If it returns none,
  // the outcome holds the last refusal, or the result of the last attempt, which tried everything
  // once more. Only that attempt searches free blocks, because segments that go back are in no free
  // list.
  [[nodiscard]] AnyBlock obtain(State& state) VRAMSCOPE_REQUIRES(state);
  // Takes the steps that make room for memory that the program gets from the driver. Returns false
  // if no room could be made.
  static bool make_room(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);

 private:
  enum class Step : std::uint8_t;
  enum class Next : bool { other_step, attempt };
  [[nodiscard]] Next take(State& state, Step step) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool end_quarantine(State& state) const VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool release_idle(State& state) VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] AnyBlock attempt(State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] AnyBlock attempt_segment(State& state) VRAMSCOPE_REQUIRES(state);
  // Whether the segment would be cut into blocks, so that a free block may serve the request.
  [[nodiscard]] bool is_cut(const State& state) const VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] bool expands(const State& state) const VRAMSCOPE_REQUIRES(state);
  // Whether the segment would exceed the allowed share of the device.
  [[nodiscard]] bool exceeds_share(State& state) VRAMSCOPE_REQUIRES(state);
  // Requests one segment from the backend if the limits allow it. out.status holds the result.
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
