// Idle segments are kept for the next request of their class, as long as the driver has as much
// left for others, and nobody needs their memory: Policy::native_safe. Under PyTorch's policy
// nothing here happens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// Threads: one at a time.
class CachingAllocator::Idle {
 public:
  // To be called when a device has less memory left, or more places, and when settings have
  // changed. What may stay idle there is as much as nobody uses, and Limits::idle_share of the
  // device at least; its places share that in equal parts.
  static void set_caps(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);

  // No idle segment serves a request: those that are there have been idle one request longer.
  static void count_miss(State& state, Place where) VRAMSCOPE_REQUIRES(state);

  // In a call of the program's for memory of a place. Once somebody else needs memory there, all
  // that is idle on the device goes back; false: nobody does. Not while a capture forbids it: then
  // a later call does it. Unlocks.
  static bool yield(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // In one that frees some: that, or what the place has too much goes back, old ones first.
  [[gnu::noinline]] static void shed(State& state, Place where, Outcome& out)
      VRAMSCOPE_REQUIRES(state);

  // Used on a device by nothing that is recorded, by a sample. Not to be asked amid a call that
  // moves memory between us and the device.
  static void note_unrecorded(State& state, std::uint16_t device, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);

 private:
  struct Room {
    std::uint64_t share = 0;   // what a place may always keep
    std::uint64_t unused = 0;  // its part of what nobody has
  };
  [[nodiscard]] static Room room_of(State& state, const PlaceMemory& place)
      VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
