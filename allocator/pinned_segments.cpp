// Cuts and merges blocks of pinned segments, and gives segments back.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "allocator/base/fault.h"
#include "allocator/base/size_policy.h"
#include "allocator/state.h"

namespace vramscope {

// Asks for the host's total memory once.
PinnedPlace* CachingAllocator::Pinned::open(State& state, Place where) {
  if (PinnedPlace* const place = places_.find(where)) return place;
  state.unlock();
  const std::uint64_t host_bytes = state.backend.total_bytes(where);
  state.lock();
  host_bytes_ = host_bytes;
  PinnedPlace* const place = places_.find(where);  // another thread may have added it
  return place ? place : add(where);
}

bool CachingAllocator::Pinned::may_cut() const {
  return reserved_ <= host_bytes_ / kPinnedCutParts;
}

// Finds the best fit. If idle segments may no longer be cut, one that is hardly larger serves
// whole.
Pools::Found CachingAllocator::Pinned::find(const PinnedPlace& place, std::uint64_t rounded) const {
  if (rounded > kMaxBlockBytes) return {};
  const PoolClass pool = pool_class(rounded);
  const Pools::Found found = place.pools.find(pool, to_units(rounded));
  if (found.block == kNoBlock || pool == PoolClass::small || may_cut()) return found;
  const bool is_idle = !blocks_[found.block].is_part();
  const std::uint64_t bytes = to_bytes(found.size);
  return is_idle && bytes - rounded > bytes / kPinnedSpareParts ? Pools::Found{} : found;
}

void CachingAllocator::Pinned::hand_out(State& state, PinnedPlace& place, const Pools::Found& found,
                                        std::uint64_t rounded, Outcome& out) {
  const PoolClass pool = pool_class(rounded);
  const bool is_part = blocks_[found.block].is_part();
  const bool is_cut = pool == PoolClass::small || is_part || may_cut();
  blocks_.keep(found.block);
  place.pools.take(pool, blocks_, found, is_cut ? to_units(rounded) : found.size);
  Block& b = blocks_[found.block];
  b.belong_to(out.tag, out.requested);
  out.serial = state.next_serial();
  out.address = b.address();
  out.rounded = to_bytes(b.size);
  blocks_.life(found.block).set_serial(out.serial);
  held_ += out.rounded;
  most_held_ = std::max(most_held_, held_);
  state.accounts.came(place.place, b.counted(), out.serial);
  b.set_state(BlockState::active_allocated);
}

AnyBlock CachingAllocator::Pinned::add_segment(State& state, Place where, std::uint64_t rounded,
                                               Address address, std::uint64_t bytes) {
  const bool usable =
      address % kUnit == 0 && bytes <= kMaxBlockBytes && address <= FreeBlocks::kMaxAddress - bytes;
  PinnedPlace* place = usable ? open(state, where) : nullptr;
  if (!place || !prepare() || !state.listed.prepare() ||
      !state.is_fresh(Kind::pinned, address, bytes))
    return {};
  try {
    PinnedSegment& segment = segments_[address];
    const PoolClass pool = pool_class(rounded);
    const Waits::Number settled = state.reuse.pinned_waits(where).settled();
    const BlockIndex first =
        place->pools.add_segment(pool, blocks_, address, to_units(bytes), settled);
    segment = {bytes, first, place->slot, pool};
    reserved_ += bytes;
    if (pool == PoolClass::small) place->small_bytes += bytes;
    state.accounts.segment_came(where, pool, bytes);
    segment.listed =
        state.listed.add(ListedSegment::Sort::pinned, where, address, bytes, pool, first);
    state.ranges.pinned.widen(address, bytes);
    return {blocks_, first};
  } catch (const std::bad_alloc&) {  // the map's; nothing else was changed
    return {};
  }
}

void CachingAllocator::Pinned::merge(const AnyBlock& block) {
  const Block& b = blocks_[block.index()];
  PinnedPlace& place = *places_[blocks_.life(block.index()).place];
  held_ -= to_bytes(b.size);
  blocks_.keep_around(block.index());
  place.pools.give_back(b.pool(), blocks_, blocks_.find_entry(b.address()));
}

// A merged block carries the newest number of its parts.
void CachingAllocator::Pinned::put_back(State& state, const AnyBlock& block, std::uint64_t life,
                                        Waits::Number freed, Outcome& out) {
  const Place where = state.place_of(block);
  const CountedBlock counted = block.counted();
  const Address address = blocks_[block.index()].address();
  if (state.reuse_time == ReuseTime::at_reuse && !fault(Fault::pinned_merged_unproved)) {
    Pools::number(blocks_, block.index(), freed);
  }
  if (life == State::kGivenUp) {
    state.accounts.reusable(where, counted);
  } else {
    state.accounts.freed(where, counted, life);
  }
  merge(block);
  if (state.limits.pinned_max_cached_size == Limits::kUnlimited) return;
  const auto it = segments_.find(segment_around(address)->first);
  const bool is_too_large = it->second.bytes > state.limits.pinned_max_cached_size;
  if (is_too_large && is_idle(it->second)) give_back(state, it, out);
}

CachingAllocator::Pinned::Segments::node_type CachingAllocator::Pinned::set_aside(
    State& state, Segments::iterator it) {
  const PinnedSegment& segment = it->second;
  PinnedPlace& place = *places_[segment.slot];
  place.pools.set_aside(blocks_, segment.first);
  reserved_ -= segment.bytes;
  if (segment.pool == PoolClass::small) place.small_bytes -= segment.bytes;
  state.accounts.segment_went(place.place, segment.pool, segment.bytes);
  state.listed.hide(segment.listed);
  return segments_.extract(it);
}

// As with Reclaim, the segment is in no book during the backend's call.
bool CachingAllocator::Pinned::give_back(State& state, Segments::iterator it, Outcome& out) {
  Segments::node_type node = set_aside(state, it);
  const Address address = node.key();
  const PinnedSegment segment = node.mapped();
  const Place where = places_[segment.slot]->place;
  const Reclaim::Aside aside(state.reclaim, 1);
  const Reclaim::ReleaseResult result = state.reclaim.give_back(state, where, address, out).result;
  if (result == Reclaim::ReleaseResult::retained &&
      state.is_fresh(Kind::pinned, address, segment.bytes)) {
    segments_.insert(std::move(node));
    PinnedPlace& place = *places_[segment.slot];
    place.pools.restore(blocks_, segment.first);
    reserved_ += segment.bytes;
    if (segment.pool == PoolClass::small) place.small_bytes += segment.bytes;
    state.accounts.segment_kept(where, segment.pool, segment.bytes);
    state.listed.show(segment.listed);
    return false;
  }
  state.listed.remove(segment.listed);
  blocks_.keep(segment.first);
  blocks_.destroy(segment.first);
  if (result == Reclaim::ReleaseResult::released) state.accounts.segment_given_back(where);
  return true;
}

void CachingAllocator::Pinned::release_idle(State& state, Place where, Outcome& out) {
  state.drain(Store::pinned, where, out);
  for (auto it = segments_.begin(); it != segments_.end();) {
    const Address address = it->first;
    const bool goes = places_[it->second.slot]->place == where && is_idle(it->second);
    if (goes && !give_back(state, it, out)) return;
    it = segments_.upper_bound(address);
  }
}

void CachingAllocator::Pinned::release_all_idle(State& state, Outcome& out) {
  for (std::size_t slot = 0; slot < places_.size(); ++slot) {
    if (places_[slot]) release_idle(state, places_[slot]->place, out);
  }
}

void CachingAllocator::Pinned::forget(State& state, Place where) {
  PinnedPlace* place = places_.find(where);
  if (!place) return;
  const std::uint32_t newest = place->pending.newest();
  while (const AnyBlock block = place->pending.take(where, newest, newest)) {
    state.accounts.reusable(where, block.counted());
    merge(block);
  }
  for (auto it = segments_.begin(); it != segments_.end();) {
    const auto next = std::next(it);
    if (it->second.slot == place->slot) {
      forget_blocks(state, *place, it->second);
      const PinnedSegment gone = set_aside(state, it).mapped();
      state.listed.remove(gone.listed);
      blocks_.keep(gone.first);
      blocks_.destroy(gone.first);
    }
    it = next;
  }
  places_.remove(place->slot);
}

// Merging removes a free neighbour's record, so the walk continues after it.
void CachingAllocator::Pinned::forget_blocks(State& state, const PinnedPlace& place,
                                             const PinnedSegment& segment) {
  for (BlockIndex i = segment.first; i != kNoBlock;) {
    BlockIndex next = blocks_[i].next;
    if (blocks_[next].is_free()) next = blocks_[next].next;
    if (blocks_[i].is_live()) {
      state.accounts.freed(place.place, blocks_[i].counted(), Accounts::kNoLife);
      merge({blocks_, i});
    }
    i = next;
  }
}

PinnedPlace* CachingAllocator::Pinned::add(Place where) noexcept try {
  const std::optional<std::uint16_t> slot = places_.free_slot();
  auto place = slot ? std::make_unique<PinnedPlace>(where, *slot) : nullptr;
  if (!place || !place->pools.prepare(blocks_.size())) return nullptr;
  return places_.add(std::move(place));
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool CachingAllocator::Pinned::prepare() noexcept {
  if (blocks_.is_prepared()) return true;
  for (const auto& place : places_) {
    if (place && !place->pools.prepare(blocks_.next_size())) return false;
  }
  return blocks_.prepare();
}

CachingAllocator::Pinned::Segments::const_iterator CachingAllocator::Pinned::segment_around(
    Address address) const noexcept {
  const auto above = segments_.upper_bound(address);
  if (above == segments_.begin()) return segments_.end();
  const auto it = std::prev(above);
  return address - it->first < it->second.bytes ? it : segments_.end();
}

BlockIndex CachingAllocator::Pinned::block_around(Address address) const noexcept {
  const auto it = segment_around(address);
  if (it == segments_.end()) return kNoBlock;
  const BlockIndex exact = blocks_.find(address);  // the usual question
  if (exact != kNoBlock) return exact;
  BlockIndex i = it->second.first;
  while (address - blocks_[i].address() >= to_bytes(blocks_[i].size)) i = blocks_[i].next;
  return i;
}

bool CachingAllocator::Pinned::overlaps(Address address, std::uint64_t bytes) const noexcept {
  const auto above = segments_.lower_bound(address);
  if (above != segments_.end() && above->first < address + bytes) return true;
  return segment_around(address) != segments_.end();
}

CachingAllocator::Pinned::Segments::iterator CachingAllocator::Pinned::oldest_idle() noexcept {
  auto oldest = segments_.end();
  for (auto it = segments_.begin(); it != segments_.end(); ++it) {
    if (!is_idle(it->second)) continue;
    if (oldest == segments_.end() || age(it->second) > age(oldest->second)) oldest = it;
  }
  return oldest;
}

}  // namespace vramscope
