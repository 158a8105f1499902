// Growth decides where a segment grows, and how many of its pages must be moved from idle ranges.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// For Limits::growing_segments. It changes nothing. Threads: one at a time.
class CachingAllocator::Growth {
 public:
  using Room = Expansion::Room;
  // Returns the range that needs the fewest pages; among equals, the lowest address.
  [[nodiscard]] static Room best_room(const State& state, const PlaceMemory& place, PoolClass pool,
                                      Units size) VRAMSCOPE_REQUIRES(state);
  // Returns by how many bytes of whole pages the reserved memory would exceed the highest live
  // memory plus slack, if `mapped` bytes were added for a request.
  [[nodiscard]] static std::uint64_t excess(State& state, Place where, std::uint64_t mapped,
                                            std::uint64_t requested) VRAMSCOPE_REQUIRES(state);

 private:
  [[nodiscard]] static std::uint64_t page_at(const State& state, Address address)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static Room room_from(const State& state, BlockIndex first, Units size,
                                      std::uint64_t page) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static Room room_before(const State& state, BlockIndex unbacked, Units size,
                                        std::uint64_t page) VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
