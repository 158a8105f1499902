// Reading answers questions about addresses and idle memory. It changes nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

class CachingAllocator::Reading {
 public:
  // Find an address in segments of pools, in cut pinned segments, in dedicated segments, and in
  // direct memory. Return false if it lies in none.
  [[nodiscard]] static bool find_in_pools(const State& state, Address address, Found& found)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool find_in_pinned(const State& state, Address address, Found& found)
      VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool find_dedicated(const State& state, Kind kind, Address address,
                                           Found& found) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static bool find_direct(const State& state, Space space, Address address,
                                        Found& found) VRAMSCOPE_REQUIRES(state);
  // Finds an address in memory of ours.
  [[nodiscard]] static bool find_ours(const State& state, Address address, Found& found)
      VRAMSCOPE_REQUIRES(state);

  [[nodiscard]] static std::uint64_t idle_bytes_of_pools(const State& state, std::uint16_t device)
      VRAMSCOPE_REQUIRES(state);
  // Returns the bytes that would also be idle if no free were pending there.
  [[nodiscard]] static std::uint64_t pending_bytes_of_pools(const State& state,
                                                            std::uint16_t device)
      VRAMSCOPE_REQUIRES(state);

 private:
  // Returns the bytes of the free and pending blocks around a pending one; 0 if another pending
  // block of them lies lower.
  [[nodiscard]] static std::uint64_t bytes_around(const State& state, BlockIndex pending)
      VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
