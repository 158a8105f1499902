// SPDX-License-Identifier: Apache-2.0
#include "allocator/pinned.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "allocator/ground/fault.h"
#include "allocator/reclaim.h"
#include "allocator/size_policy.h"

namespace vramscope {

// How much memory the host has is asked once.
PinnedPlace* CachingAllocator::Pinned::open(State& state, Place where) {
  PinnedMemory& memory = state.pinned_memory;
  if (PinnedPlace* place = memory.places.find(where)) return place;
  state.unlock();
  const std::uint64_t host_bytes = state.backend.total_bytes(where);
  state.lock();
  memory.host_bytes = host_bytes;
  PinnedPlace* const place = memory.places.find(where);  // another thread may have been faster
  return place ? place : memory.add(where);
}

bool CachingAllocator::Pinned::may_cut(const State& state) {
  const PinnedMemory& memory = state.pinned_memory;
  return memory.reserved <= memory.host_bytes / kPinnedCutParts;
}

// The best fit. Where no idle segment may be cut any more one serves whole, if it is hardly larger.
Pools::Found CachingAllocator::Pinned::find(const State& state, const PinnedPlace& place,
                                            std::uint64_t rounded) {
  if (rounded > kMaxBlockBytes) return {};
  const PoolClass pool = pool_class(rounded);
  const Pools::Found found = place.pools.find(pool, to_units(rounded));
  if (found.block == kNoBlock || pool == PoolClass::small || may_cut(state)) return found;
  const bool is_idle = !state.pinned_memory.blocks[found.block].is_part();
  const std::uint64_t bytes = to_bytes(found.size);
  return is_idle && bytes - rounded > bytes / kPinnedSpareParts ? Pools::Found{} : found;
}

void CachingAllocator::Pinned::hand_out(State& state, PinnedPlace& place, const Pools::Found& found,
                                        std::uint64_t rounded, Outcome& out) {
  PinnedMemory& memory = state.pinned_memory;
  const PoolClass pool = pool_class(rounded);
  const bool is_part = memory.blocks[found.block].is_part();
  const bool is_cut = pool == PoolClass::small || is_part || may_cut(state);
  memory.blocks.keep(found.block);
  place.pools.take(pool, memory.blocks, found, is_cut ? to_units(rounded) : found.size);
  Block& b = memory.blocks[found.block];
  b.belong_to(out.tag, out.requested);
  out.serial = state.next_serial();
  out.address = b.address();
  out.rounded = to_bytes(b.size);
  memory.blocks.life(found.block).set_serial(out.serial);
  memory.held += out.rounded;
  memory.most_held = std::max(memory.most_held, memory.held);
  state.accounts.came(place.place, b.counted(), out.serial);
  b.set_state(BlockState::active_allocated);
}

AnyBlock CachingAllocator::Pinned::add_segment(State& state, Place where, std::uint64_t rounded,
                                               Address address, std::uint64_t bytes) {
  PinnedMemory& memory = state.pinned_memory;
  const bool usable =
      address % kUnit == 0 && bytes <= kMaxBlockBytes && address <= FreeBlocks::kMaxAddress - bytes;
  PinnedPlace* place = usable ? open(state, where) : nullptr;
  if (!place || !memory.prepare() || !state.listed.prepare() ||
      !state.is_fresh(Kind::pinned, address, bytes))
    return {};
  try {
    PinnedSegment& segment = memory.segments[address];
    const PoolClass pool = pool_class(rounded);
    const Waits::Number settled = state.reuse.pinned_waits(where).settled();
    const BlockIndex first =
        place->pools.add_segment(pool, memory.blocks, address, to_units(bytes), settled);
    segment = {bytes, first, place->slot, pool};
    memory.reserved += bytes;
    if (pool == PoolClass::small) place->small_bytes += bytes;
    state.accounts.segment_came(where, pool, bytes);
    segment.listed =
        state.listed.add(ListedSegment::Sort::pinned, where, address, bytes, pool, first);
    state.ranges.pinned.widen(address, bytes);
    return {memory.blocks, first};
  } catch (const std::bad_alloc&) {  // the map's; nothing else was changed
    return {};
  }
}

void CachingAllocator::Pinned::merge(State& state, const AnyBlock& block) {
  PinnedMemory& memory = state.pinned_memory;
  const Block& b = memory.blocks[block.index()];
  PinnedPlace& place = *memory.places[memory.blocks.life(block.index()).place];
  memory.held -= to_bytes(b.size);
  memory.blocks.keep_around(block.index());
  place.pools.give_back(b.pool(), memory.blocks, memory.blocks.find_entry(b.address()));
}

// A block that merges carries the newest number of all that it is made of.
void CachingAllocator::Pinned::put_back(State& state, const AnyBlock& block, std::uint64_t life,
                                        Waits::Number freed, Outcome& out) {
  PinnedMemory& memory = state.pinned_memory;
  const Place where = state.place_of(block);
  const CountedBlock counted = block.counted();
  const Address address = memory.blocks[block.index()].address();
  if (state.reuse_time == ReuseTime::at_reuse && !fault(Fault::pinned_merged_unproved)) {
    Pools::number(memory.blocks, block.index(), freed);
  }
  if (life == State::kGivenUp) {
    state.accounts.reusable(where, counted);
  } else {
    state.accounts.freed(where, counted, life);
  }
  merge(state, block);
  if (state.limits.pinned_max_cached_size == Limits::kUnlimited) return;
  const auto it = memory.segments.find(memory.segment_around(address)->first);
  const bool is_too_large = it->second.bytes > state.limits.pinned_max_cached_size;
  if (is_too_large && memory.is_idle(it->second)) give_back(state, it, out);
}

PinnedMemory::Segments::node_type CachingAllocator::Pinned::set_aside(
    State& state, PinnedMemory::Segments::iterator it) {
  PinnedMemory& memory = state.pinned_memory;
  const PinnedSegment& segment = it->second;
  PinnedPlace& place = *memory.places[segment.slot];
  place.pools.set_aside(memory.blocks, segment.first);
  memory.reserved -= segment.bytes;
  if (segment.pool == PoolClass::small) place.small_bytes -= segment.bytes;
  state.accounts.segment_went(place.place, segment.pool, segment.bytes);
  state.listed.hide(segment.listed);
  return memory.segments.extract(it);
}

// As Reclaim does with segments of a device: it is in no book while the backend is asked.
bool CachingAllocator::Pinned::give_back(State& state, PinnedMemory::Segments::iterator it,
                                         Outcome& out) {
  PinnedMemory& memory = state.pinned_memory;
  PinnedMemory::Segments::node_type node = set_aside(state, it);
  const Address address = node.key();
  const PinnedSegment segment = node.mapped();
  const Place where = memory.places[segment.slot]->place;
  ++state.records_aside;
  const Reclaim::Fate fate = Reclaim::give_back(state, where, address, out).fate;
  --state.records_aside;
  if (fate == Reclaim::Fate::kept && state.is_fresh(Kind::pinned, address, segment.bytes)) {
    memory.segments.insert(std::move(node));
    PinnedPlace& place = *memory.places[segment.slot];
    place.pools.restore(memory.blocks, segment.first);
    memory.reserved += segment.bytes;
    if (segment.pool == PoolClass::small) place.small_bytes += segment.bytes;
    state.accounts.segment_kept(where, segment.pool, segment.bytes);
    state.listed.show(segment.listed);
    return false;
  }
  state.listed.remove(segment.listed);
  memory.blocks.keep(segment.first);
  memory.blocks.destroy(segment.first);
  if (fate == Reclaim::Fate::taken) state.accounts.segment_given_back(where);
  return true;
}

void CachingAllocator::Pinned::release_idle(State& state, Place where, Outcome& out) {
  PinnedMemory& memory = state.pinned_memory;
  state.drain(Store::pinned, where, out);
  for (auto it = memory.segments.begin(); it != memory.segments.end();) {
    const Address address = it->first;
    const bool goes = memory.places[it->second.slot]->place == where && memory.is_idle(it->second);
    if (goes && !give_back(state, it, out)) return;
    it = memory.segments.upper_bound(address);
  }
}

void CachingAllocator::Pinned::release_all_idle(State& state, Outcome& out) {
  PinnedMemory& memory = state.pinned_memory;
  for (std::size_t slot = 0; slot < memory.places.size(); ++slot) {
    if (memory.places[slot]) release_idle(state, memory.places[slot]->place, out);
  }
}

void CachingAllocator::Pinned::forget(State& state, Place where) {
  PinnedMemory& memory = state.pinned_memory;
  PinnedPlace* place = memory.places.find(where);
  if (!place) return;
  const std::uint32_t newest = place->pending.newest();
  while (const AnyBlock block = place->pending.take(where, newest, newest)) {
    state.accounts.reusable(where, block.counted());
    merge(state, block);
  }
  for (auto it = memory.segments.begin(); it != memory.segments.end();) {
    const auto next = std::next(it);
    if (it->second.slot == place->slot) {
      forget_blocks(state, *place, it->second);
      const PinnedSegment gone = set_aside(state, it).mapped();
      state.listed.remove(gone.listed);
      memory.blocks.keep(gone.first);
      memory.blocks.destroy(gone.first);
    }
    it = next;
  }
  memory.places.remove(place->slot);
}

// Merging takes a free neighbour's record away: the walk continues behind it.
void CachingAllocator::Pinned::forget_blocks(State& state, const PinnedPlace& place,
                                             const PinnedSegment& segment) {
  BlockTable& blocks = state.pinned_memory.blocks;
  for (BlockIndex i = segment.first; i != kNoBlock;) {
    BlockIndex next = blocks[i].next;
    if (blocks[next].is_free()) next = blocks[next].next;
    if (blocks[i].is_live()) {
      state.accounts.freed(place.place, blocks[i].counted(), Accounts::kNoLife);
      merge(state, {blocks, i});
    }
    i = next;
  }
}

}  // namespace vramscope
