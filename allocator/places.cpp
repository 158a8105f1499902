// Places: opening and forgetting them, and their pending frees.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <new>

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
  place->total_bytes = std::min(total_bytes, accounts.limit(where.device));
  if (!place->pools.prepare(blocks.size())) return nullptr;
  places[slot] = std::move(place);
  note_usual_places();
  return places[slot].get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool CachingAllocator::State::prepare_blocks() {
  if (blocks.is_prepared()) return true;
  for (const auto& place : places) {
    if (place && !place->pools.prepare(blocks.next_size())) return false;
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
  const bool is_sole = sole && !several && sole->pending.empty();
  const bool usable = is_sole && !reuse.holds() && reuse_time == ReuseTime::at_free;
  sole_place.store(usable ? sole->place.packed() : kSeveralPlaces, std::memory_order_release);
  sole_memory = usable ? sole : nullptr;
  PlaceMemory* last = last_place < places.size() ? places[last_place].get() : nullptr;
  const bool is_plain = last && last->pending.empty() && plain_hits;
  usual_place = is_plain && reuse_time == ReuseTime::at_free ? last : nullptr;
}

// Everything is counted out as if the program had freed it, but nobody gave a segment back: they
// are there no longer.
void CachingAllocator::State::forget_place(Place where) {
  for (Departure* departure = departures; departure; departure = departure->next) {
    departure->lost |= departure->where == where;
  }
  Directs& adopted = directs_of(where.kind);
  for (auto it = adopted.begin(); it != adopted.end();) {
    const auto next = std::next(it);
    if (it->second.where == where) forget_direct(it, Ended::lost);
    it = next;
  }
  if (where.kind == Kind::pinned || where.kind == Kind::device) forget_dedicated(where);
  PlaceMemory* place = find_place(where);
  if (!place) return;
  const std::uint32_t newest = place->pending.newest();
  Outcome unused;
  static_cast<void>(complete(Store::pools, where, newest, newest, unused));
  for (auto it = segments.begin(); it != segments.end();) {
    const auto next = std::next(it);
    if (it->second.slot == place->slot) {
      forget_blocks(*place, it->second);
      const BlockIndex first = set_aside(it).mapped().first;
      blocks.destroy(first);  // no call was made: num_device_free stays
    }
    it = next;
  }
  places[place->slot].reset();
  note_usual_places();
}

void CachingAllocator::State::forget_blocks(PlaceMemory& place, const Segment& segment) {
  for (BlockIndex i = segment.first; i != kNoBlock;) {
    // Merging takes a free neighbour's record away: the walk continues behind it.
    BlockIndex next = blocks[i].next;
    if (blocks[next].is_free()) next = blocks[next].next;
    if (blocks[i].is_live()) {
      release(place, blocks.find_entry(blocks[i].address()), Accounts::kNoLife, place.waits.now());
    }
    i = next;
  }
}

}  // namespace vramscope
