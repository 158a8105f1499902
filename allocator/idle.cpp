// SPDX-License-Identifier: Apache-2.0
#include "allocator/idle.h"

#include <algorithm>

namespace vramscope {
namespace {

// Idle memory goes back to a part below the cap, so that not every free must search for the oldest
// segment.
constexpr std::uint64_t kRoomParts = 16;

// The uncertainty of samples: page tables, and code that is loaded on first use.
constexpr std::uint64_t kMostNoise = 16 * kMiB;
constexpr std::uint64_t kNoiseParts = 64;  // of the device

}  // namespace

// Returns half of the unused memory, or the share of the device that is always allowed.
CachingAllocator::Idle::Room CachingAllocator::Idle::room_of(State& state,
                                                             const PlaceMemory& place) {
  const std::uint16_t device = place.place.device;
  std::uint64_t places = 0;
  for (const auto& one : state.places) places += one && one->place.device == device;
  const std::uint64_t used = state.accounts.capacities().use(device).reserved +
                             state.accounts.capacities().use(device).direct +
                             state.unrecorded[device].last;
  const std::uint64_t unused = place.total_bytes - std::min(used, place.total_bytes);
  return {.share = Reclaim::part_of(place.total_bytes, state.limits.idle_share) / places,
          .unused = unused / places};
}

void CachingAllocator::Idle::set_caps(State& state, std::uint16_t device) {
  if (state.limits.policy != Policy::native_safe) return;
  for (const auto& place : state.places) {
    if (!place || place->place.device != device) continue;
    const Room room = room_of(state, *place);
    place->pools.cap_idle(std::max(room.share, room.unused));
  }
}

void CachingAllocator::Idle::count_miss(State& state, Place where) {
  PlaceMemory* place = state.places.find(where);
  if (!place) return;
  place->pools.count_search(PoolClass::small);
  place->pools.count_search(PoolClass::large);
}

bool CachingAllocator::Idle::yield(State& state, Place where, Outcome& out) {
  if (where.kind != Kind::device) return false;
  Unrecorded& device = state.unrecorded[where.device];
  if (!device.calls_for_release()) return false;
  if (!state.reclaim.idle(state, where.device, out)) return true;  // a capture forbids it
  device.has_grown = device.is_trim_posted = false;
  note_trimmed(state);
  return true;
}

void CachingAllocator::Idle::shed(State& state, Place where, Outcome& out) {
  if (yield(state, where, out) || state.limits.policy != Policy::native_safe) return;
  const PlaceMemory* place = state.places.find(where);
  if (!place || !place->pools.is_over_cap()) return;
  set_caps(state, where.device);  // the device may have more by now
  if (!place->pools.is_over_cap()) return;
  const Room room = room_of(state, *place);
  const std::uint64_t idle = place->pools.idle_bytes();
  const std::uint64_t most = std::max(room.share, (idle + room.unused) / 2);
  state.reclaim.oldest(state, where, idle - (most - most / kRoomParts), out);
}

void CachingAllocator::Idle::post_trim(State& state, std::atomic<bool>& is_done) {
  state.trim_at_next_call = &is_done;
  for (const auto& place : state.places) {
    if (place) state.unrecorded[place->place.device].is_trim_posted = true;
  }
  note_trimmed(state);
}

void CachingAllocator::Idle::note_trimmed(State& state) {
  if (state.trim_at_next_call == nullptr) return;
  for (const Unrecorded& device : state.unrecorded) {
    if (device.is_trim_posted) return;
  }
  state.trim_at_next_call->store(true, std::memory_order_release);
  state.trim_at_next_call = nullptr;
}

void CachingAllocator::note_unrecorded(std::uint16_t device, std::uint64_t bytes) noexcept {
  const ScopedLock section(*state_);
  Idle::note_unrecorded(*state_, device, bytes);
}

// The books are not consistent with a sample while another thread requests or releases a segment.
void CachingAllocator::Idle::note_unrecorded(State& state, std::uint16_t device,
                                             std::uint64_t bytes) {
  if (state.limits.policy != Policy::native_safe || state.reclaim.is_giving_back()) return;
  const PlaceMemory* place = nullptr;
  for (const auto& one : state.places) {
    if (one && one->place.device == device) place = one.get();
  }
  if (!place || state.accounts.capacities().use(device).awaited != 0) return;
  Unrecorded& known = state.unrecorded[device];
  const std::uint64_t noise = std::min(kMostNoise, place->total_bytes / kNoiseParts);
  const bool has_grown = bytes > known.least && bytes - known.least > noise;
  known.least = has_grown ? bytes : std::min(known.least, bytes);
  known.last = bytes;
  set_caps(state, device);
  if (!has_grown || known.has_grown) return;
  known.has_grown = true;
}

}  // namespace vramscope
