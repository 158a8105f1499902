// Reading answers what is known of an address, and what is idle; it changes nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

class CachingAllocator::Reading {
 public:
  // Of a segment of pools, of a pinned one that is cut, of a dedicated one, and of direct memory.
  // False: it lies in none.
  [[nodiscard]] static bool find_in_pools(const State& state, Address address, Found& found)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool find_in_pinned(const State& state, Address address, Found& found)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool find_dedicated(const State& state, Kind kind, Address address,
                                           Found& found) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool find_direct(const State& state, Space space, Address address,
                                        Found& found) VRAMSCOPE_REQUIRES(state);
  // Of the first two: memory of ours.
  [[nodiscard]] static bool find_ours(const State& state, Address address, Found& found)
      VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] static std::uint64_t idle_bytes_of_pools(const State& state, std::uint16_t device)
      VRAMSCOPE_REQUIRES(state);
  // What more would be idle if nothing were pending there.
  [[nodiscard]] static std::uint64_t pending_bytes_of_pools(const State& state,
                                                            std::uint16_t device)
      VRAMSCOPE_REQUIRES(state);

 private:
  // Of the free and pending blocks around a pending one; 0 where another of them is pending and
  // lies lower.
  [[nodiscard]] static std::uint64_t bytes_around(const State& state, BlockIndex pending)
      VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
