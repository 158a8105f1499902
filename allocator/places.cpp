// Places are opened and found here, and what only one of them needs is told to the hot path.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <new>

#include "allocator/idle.h"
#include "allocator/pinned.h"
#include "allocator/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

PlaceMemory* CachingAllocator::State::find_place(Place where) {
  if (last_place < places.size() && places[last_place] && places[last_place]->place == where) {
    return places[last_place].get();
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i] || places[i]->place != where) continue;
    last_place = i;
    note_usual_places();
    return places[i].get();
  }
  return nullptr;
}

PlaceMemory* CachingAllocator::State::open_place(Place where) {
  if (PlaceMemory* place = find_place(where)) return place;
  mutex.unlock();
  const std::uint64_t total_bytes = backend.total_bytes(where);
  mutex.lock();
  if (PlaceMemory* place = find_place(where)) return place;  // another thread was faster
  return add_place(where, total_bytes);
}

PlaceMemory* CachingAllocator::State::add_place(Place where, std::uint64_t total_bytes) try {
  std::size_t slot = 0;
  while (slot < places.size() && places[slot]) ++slot;
  if (slot > std::numeric_limits<std::uint16_t>::max() || !accounts.open_device(where.device)) {
    return nullptr;
  }
  if (slot == places.size()) places.emplace_back();
  auto place = std::make_unique<PlaceMemory>(where, static_cast<std::uint16_t>(slot),
                                             accounts.of_place(where));
  place->total_bytes = std::min(total_bytes, accounts.capacities().use(where.device).limit);
  if (!place->prepare(blocks.size())) return nullptr;
  places[slot] = std::move(place);
  Idle::set_caps(*this, where.device);
  note_usual_places();
  return places[slot].get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool CachingAllocator::State::prepare_blocks() {
  if (blocks.is_prepared()) return true;
  for (const auto& place : places) {
    if (place && !place->prepare(blocks.next_size())) return false;
  }
  return blocks.prepare();
}

void CachingAllocator::State::note_usual_places() {
  PlaceMemory* sole = nullptr;
  bool several = false;
  for (const auto& place : places) {
    several |= place && sole;
    if (place) sole = place.get();
  }
  const bool is_sole =
      sole && !several && sole->pending.empty() && reservations == 0 && !blocks.has_copies();
  const auto is_wanted = [&](const PlaceMemory& place) VRAMSCOPE_REQUIRES(mutex) {
    return unrecorded[place.place.device].has_grown;
  };
  const bool usable =
      is_sole && !is_wanted(*sole) && !reuse.holds() && reuse_time == ReuseTime::at_free;
  sole_place.store(usable ? sole->place.packed() : kSeveralPlaces, std::memory_order_release);
  sole_memory = usable ? sole : nullptr;
  PlaceMemory* last = last_place < places.size() ? places[last_place].get() : nullptr;
  const bool is_plain =
      last && last->pending.empty() && plain_hits && !is_wanted(*last) && !blocks.has_copies();
  usual_place = is_plain && reuse_time == ReuseTime::at_free ? last : nullptr;
  Pinned::note_usual_place(*this);
}

bool CachingAllocator::State::is_fresh(Kind kind, Address address, std::uint64_t bytes) const {
  if (address == 0 || address > ~Address{0} - bytes) return false;
  if (kind == Kind::pinned) {
    return !pinned.overlaps(address, bytes) && !pinned_memory.overlaps(address, bytes);
  }
  if (dedicated.overlaps(address, bytes)) return false;
  const auto above = segments.lower_bound(address);
  if (above != segments.end() && above->first < address + bytes) return false;
  if (above == segments.begin()) return true;
  const auto below = std::prev(above);
  return below->first + below->second.bytes <= address;
}

void AddressRange::widen(Address address, std::uint64_t bytes) noexcept {
  if (address < lowest.load(std::memory_order_relaxed)) {
    lowest.store(address, std::memory_order_release);
  }
  if (address + bytes > end.load(std::memory_order_relaxed)) {
    end.store(address + bytes, std::memory_order_release);
  }
}

}  // namespace vramscope
