// Opens places, and checks new segments for overlaps.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "allocator/base/size_policy.h"
#include "allocator/idle.h"
#include "allocator/state.h"

namespace vramscope {

PlaceMemory* CachingAllocator::State::open_place(Place where) {
  if (PlaceMemory* place = places.find(where)) return place;
  unlock();
  const std::uint64_t total_bytes = backend.total_bytes(where);
  lock();
  if (PlaceMemory* place = places.find(where)) return place;  // another thread has added it
  return add_place(where, total_bytes);
}

PlaceMemory* CachingAllocator::State::add_place(Place where, std::uint64_t total_bytes) try {
  const std::optional<std::uint16_t> slot = places.free_slot();
  if (!slot || !accounts.open_device(where.device)) return nullptr;
  auto place = std::make_unique<PlaceMemory>(where, *slot, accounts.of_place(where));
  place->total_bytes = std::min(total_bytes, accounts.capacities().use(where.device).limit);
  if (!place->prepare(blocks.size())) return nullptr;
  PlaceMemory* const added = places.add(std::move(place));
  Idle::set_caps(*this, where.device);
  return added;
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

bool CachingAllocator::State::is_fresh(Kind kind, Address address, std::uint64_t bytes) const {
  if (address == 0 || address > ~Address{0} - bytes) return false;
  if (kind == Kind::pinned) {
    return !dedicated.of(kind).overlaps(address, bytes) && !pinned.overlaps(address, bytes);
  }
  if (dedicated.of(kind).overlaps(address, bytes)) return false;
  const auto above = segments.lower_bound(address);
  if (above != segments.end() && above->first < address + bytes) return false;
  if (above == segments.begin()) return true;
  const auto below = std::prev(above);
  return below->first + below->second.bytes <= address;
}

}  // namespace vramscope
