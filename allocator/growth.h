// Growth decides where a segment grows, and how many pages must come from where they lie idle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// Of Limits::growing_segments; changes nothing. Threads: one at a time.
class CachingAllocator::Growth {
 public:
  using Room = Expansion::Room;
  // Where the fewest pages are needed; among equals the lowest address.
  [[nodiscard]] static Room best_room(const State& state, const PlaceMemory& place, PoolClass pool,
                                      Units size) VRAMSCOPE_REQUIRES(state);
  // Bytes of whole pages, of those to be mapped for a request, by which more would be reserved than
  // was ever live, and the slack.
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
