// Unmaps pages without blocks, and ends reservations. Every function here unlocks.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "allocator/base/fault.h"
#include "allocator/base/size_policy.h"
#include "allocator/page_operations.h"
#include "allocator/state.h"

namespace vramscope {

// In PyTorch's order: the smallest first. The remaining free parts are smaller than a page.
void CachingAllocator::Expansion::give_back_idle(State& state, Place where, Outcome& out) {
  drop_abandoned(state, where);
  const auto is_idle = [&]() VRAMSCOPE_REQUIRES(state) {
    const PlaceMemory* place = state.places.find(where);
    return place && place->expandable && place->expandable->idle_bytes > 0;
  };
  if (!is_idle() || !prove_unused(state, where, out)) return;
  for (const PoolClass pool : {PoolClass::large, PoolClass::small}) {
    Units size = kGranularity / kUnit;
    Address from = 0;
    while (is_idle()) {
      const PlaceMemory& place = *state.places.find(where);
      const BlockIndex block = place.expandable->find(pool, size, from);
      if (block == kNoBlock) break;
      const Block& b = state.blocks[block];
      size = b.size;
      from = b.address() + kUnit;
      const Pages pages = pages_in(state, b);
      if (!is_unused(state, place, block) || pages.bytes() == 0) continue;
      if (!state.prepare_blocks() || !unmap(state, where, block, pages, out)) return;
    }
  }
}

// Unmapping does not wait. If frees wait, nothing uses a free block.
bool CachingAllocator::Expansion::prove_unused(State& state, Place where, Outcome& out) {
  if (state.reuse_time == ReuseTime::at_free) return true;
  const Waits::Number number = state.places.find(where)->waits.begin();
  state.unlock();
  const Reply waited = state.backend.wait(where);
  state.lock();
  out.wait_ns += waited.ns;
  PlaceMemory* place = state.places.find(where);
  if (!waited.status.ok() || !place) return false;
  place->waits.end(number);
  return true;
}

bool CachingAllocator::Expansion::is_unused(const State& state, const PlaceMemory& place,
                                            BlockIndex block) {
  return state.reuse_time == ReuseTime::at_free ||
         place.waits.cover(state.blocks.life(block).freed);
}

// Unmaps whole pages of a free block. Returns false if the backend keeps them or the place has
// ended.
bool CachingAllocator::Expansion::unmap(State& state, Place where, BlockIndex block, Pages pages,
                                        Outcome& out) {
  PlaceMemory* place = state.places.find(where);
  const auto [base, reservation] = *reservation_of(state, pages.begin);
  const std::uint64_t page = reservation.page;
  const std::uint64_t requested = state.blocks[block].requested;
  erase(state, *place, block);
  state.blocks.keep(block);
  if (const std::uint64_t before = pages.begin - state.blocks[block].address(); before > 0) {
    const BlockIndex middle = cut(state, block, before);
    state.blocks[block].requested = 0;
    insert(state, *place, block);
    block = middle;
  }
  if (to_bytes(state.blocks[block].size) > pages.bytes()) {
    const BlockIndex after = cut(state, block, pages.bytes());
    state.blocks[after].requested = 0;
    insert(state, *place, after);
  }
  state.blocks.keep(block);
  state.blocks[block].hold();
  Reply reply;
  const bool is_here = run_page_operation(
      state, base, [&] { reply = state.backend.unmap(where, pages.begin, pages.bytes(), page); });
  out.backend_ns += reply.ns;
  state.blocks.keep(block);
  if (reply.status.ok() && !fault(Fault::unmapped_served)) {
    state.blocks[block].set_where(state.blocks[block].where | Block::kUnbacked);
  }
  if (!is_here) {
    drop_abandoned(state, where);
    return false;
  }
  place = state.places.find(where);
  state.blocks[block].requested = requested;
  block = put(state, *place, block);
  if (!reply.status.ok()) return false;
  state.accounts.change_pages(where, reservation.pool, pages.bytes(), &Stat::decrease);
  state.accounts.segment_given_back(where);
  const Block& b = state.blocks[block];
  if (is_whole(b)) end_reservation(state, where, block);
  return true;
}

// Ends a reservation that is one unbacked block.
void CachingAllocator::Expansion::end_reservation(State& state, Place where, BlockIndex block) {
  erase(state, *state.places.find(where), block);
  const Segments::node_type node = state.segments.extract(state.blocks[block].address());
  state.listed.remove(node.mapped().listed);
  state.blocks.keep(block);
  state.blocks.destroy(block);
  --reservations_;
  state.unlock();
  state.backend.release_addresses(where, node.key(), node.mapped().bytes);
  state.lock();
}

Segments::iterator CachingAllocator::Expansion::forget(State& state, Segments::iterator it) {
  const Segment& reservation = it->second;
  const Place where = state.places[reservation.slot]->place;
  for (BlockIndex i = reservation.first; i != kNoBlock; i = state.blocks[i].next) {
    const Block& b = state.blocks[i];
    if (b.is_mapped()) state.blocks.erase(i);
    if (b.is_unbacked()) continue;
    state.accounts.change_pages(where, reservation.pool, to_bytes(b.size), &Stat::decrease);
  }
  for (PageOperation* operation = page_operations_; operation; operation = operation->next) {
    operation->lost |= operation->reservation == it->first;
  }
  --reservations_;
  state.listed.remove(reservation.listed);
  const auto next = std::next(it);
  abandoned_reservations_.insert(state.segments.extract(it));
  return next;
}

// Drops the reservations without a pending operation. What a capture forbids is done at the next
// opportunity.
void CachingAllocator::Expansion::drop_abandoned(State& state, Place where) {
  for (auto it = abandoned_reservations_.begin(); it != abandoned_reservations_.end();) {
    const Address address = it->first;
    bool is_in_use = false;
    for (const PageOperation* operation = page_operations_; operation;
         operation = operation->next) {
      is_in_use |= operation->reservation == address;
    }
    if (!is_in_use) drop(state, where, abandoned_reservations_.extract(it));
    it = abandoned_reservations_.upper_bound(address);  // the lock was free
  }
}

// The memory outlives the context, so each backed range is unmapped, and then the addresses are
// released.
void CachingAllocator::Expansion::drop(State& state, Place where, Segments::node_type node) {
  const Segment& reservation = node.mapped();
  std::size_t records = 0;
  for (BlockIndex i = reservation.first; i != kNoBlock; i = state.blocks[i].next) ++records;
  bool is_empty = false;
  {
    const Reclaim::Aside aside(state.reclaim, records);
    is_empty = unmap_all(state, where, reservation);
  }
  if (!is_empty) {
    abandoned_reservations_.insert(std::move(node));
    return;
  }
  for (BlockIndex i = reservation.first; i != kNoBlock;) {
    const BlockIndex next = state.blocks[i].next;
    state.blocks.keep(i);
    state.blocks.destroy(i);
    i = next;
  }
  state.unlock();
  state.backend.release_addresses(where, node.key(), reservation.bytes);
  state.lock();
}

// Returns false if some pages are still backed.
bool CachingAllocator::Expansion::unmap_all(State& state, Place where, const Segment& reservation) {
  for (BlockIndex i = reservation.first; i != kNoBlock;) {
    const BlockIndex first = i;
    const Address address = state.blocks[i].address();
    std::uint64_t bytes = 0;
    for (; i != kNoBlock && !state.blocks[i].is_unbacked(); i = state.blocks[i].next) {
      bytes += to_bytes(state.blocks[i].size);
    }
    const BlockIndex end = i;
    if (i != kNoBlock) i = state.blocks[i].next;
    if (bytes == 0) continue;
    state.unlock();
    const Status status = state.backend.unmap(where, address, bytes, reservation.page).status;
    state.lock();
    if (!status.ok()) return false;
    for (i = first; i != end; i = state.blocks[i].next) {
      state.blocks.keep(i);
      state.blocks[i].where |= Block::kUnbacked;
    }
  }
  return true;
}

}  // namespace vramscope
