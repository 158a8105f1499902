// Idle decides how long idle segments are kept for the next request of their size class: as long as
// the driver has as much memory left for others, and nobody needs it. Only for Policy::native_safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/state.h"

namespace vramscope {

// Threads: one at a time.
class CachingAllocator::Idle {
 public:
  // Sets how much may stay idle on a device: as much as nobody uses, but at least
  // Limits::idle_share of the device. Its places share that equally. Call it when the device has
  // less memory left or more places, or when settings have changed.
  static void set_caps(State& state, std::uint16_t device) VRAMSCOPE_REQUIRES(state);

  // Notes that no idle segment served a request, which makes idle segments one request older.
  static void count_miss(State& state, Place where) VRAMSCOPE_REQUIRES(state);

  // Gives all idle memory of the place's device back if somebody else needs memory there, or if a
  // trim is posted; returns false if neither is so. Called when the program asks for memory of a
  // place. If a capture forbids it, a later call does it. Unlocks.
  static bool yield(State& state, Place where, Outcome& out) VRAMSCOPE_REQUIRES(state);
  // The same when the program frees memory. If nobody else needs memory, gives back only what
  // exceeds the place's share, the oldest first.
  [[gnu::noinline]] static void shed(State& state, Place where, Outcome& out)
      VRAMSCOPE_REQUIRES(state);

  // Posts a trim of every device that has memory. A call trims the device that it concerns, and
  // waits for no other one, as it would wait for none without us. `is_done` is set with the last.
  static void post_trim(State& state, std::atomic<bool>& is_done) VRAMSCOPE_REQUIRES(state);

  // Notes that, by a sample, `bytes` of a device are used by nothing that is recorded. Do not take
  // the sample during a call that moves memory between us and the device.
  static void note_unrecorded(State& state, std::uint16_t device, std::uint64_t bytes)
      VRAMSCOPE_REQUIRES(state);

 private:
  struct Room {
    std::uint64_t share = 0;   // bytes that a place may always keep
    std::uint64_t unused = 0;  // its part of the bytes that nobody uses
  };
  [[nodiscard]] static Room room_of(State& state, const PlaceMemory& place)
      VRAMSCOPE_REQUIRES(state);
  static void note_trimmed(State& state) VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
