// SPDX-License-Identifier: Apache-2.0
#include "allocator/idle.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "allocator/reclaim.h"

namespace vramscope {
namespace {

// Going back makes room for some frees more, so that not each of them has to look for the oldest.
constexpr std::uint64_t kRoomParts = 16;

// What drivers and samples are uncertain about: page tables, code that is loaded on first use.
constexpr std::uint64_t kMostNoise = 16 * kMiB;
constexpr std::uint64_t kNoiseParts = 64;  // of the device

}  // namespace

void CachingAllocator::Idle::set_caps(State& state) {
  if (state.policy != Policy::native_safe) return;
  std::array<std::uint64_t, kMaxDevices> counts{};
  for (const auto& place : state.places) {
    if (place) ++counts[place->place.device];
  }
  for (const auto& place : state.places) {
    if (!place) continue;
    const std::uint64_t all = Reclaim::part_of(place->total_bytes, state.limits.idle_share);
    place->pools.cap_idle(all / counts[place->place.device]);
  }
}

void CachingAllocator::Idle::count_miss(State& state, Place where) {
  PlaceMemory* place = state.find_place(where);
  if (!place) return;
  place->pools.count_search(PoolClass::small);
  place->pools.count_search(PoolClass::large);
}

bool CachingAllocator::Idle::yield(State& state, Place where, Outcome& out) {
  if (where.kind != Kind::device || !state.unrecorded[where.device].has_grown) return false;
  if (!Reclaim::idle(state, where.device, out)) return true;
  state.unrecorded[where.device].has_grown = false;
  state.note_usual_places();
  return true;
}

void CachingAllocator::Idle::shed(State& state, Place where, Outcome& out) {
  if (state.policy != Policy::native_safe || yield(state, where, out)) return;
  const PlaceMemory* place = state.find_place(where);
  if (!place || !place->pools.is_over_cap()) return;
  const std::uint64_t cap = place->pools.idle_cap();
  const std::uint64_t kept = cap - cap / kRoomParts;
  Reclaim::oldest(state, where, place->pools.idle_bytes() - kept, out);
}

void CachingAllocator::note_unrecorded(std::uint16_t device, std::uint64_t bytes) noexcept {
  MutexLock lock(state_->mutex);
  Idle::note_unrecorded(*state_, device, bytes);
}

// A segment that is on its way to us or back, on another thread, is on one side of the books only.
void CachingAllocator::Idle::note_unrecorded(State& state, std::uint16_t device,
                                             std::uint64_t bytes) {
  if (state.policy != Policy::native_safe || state.departures != nullptr) return;
  const PlaceMemory* place = nullptr;
  for (const auto& one : state.places) {
    if (one && one->place.device == device) place = one.get();
  }
  if (!place || state.accounts.device(device).awaited != 0) return;
  Unrecorded& known = state.unrecorded[device];
  const std::uint64_t noise = std::min(kMostNoise, place->total_bytes / kNoiseParts);
  const bool has_grown = bytes > known.least && bytes - known.least > noise;
  known.least = has_grown ? bytes : std::min(known.least, bytes);
  if (!has_grown || known.has_grown) return;
  known.has_grown = true;
  state.note_usual_places();
}

}  // namespace vramscope
