// Serves requests from reservations: finds free blocks, reserves addresses, and maps pages.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>
#include <utility>

#include "allocator/base/size_policy.h"
#include "allocator/growth.h"
#include "allocator/page_operations.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

// A reservation exceeds the device's memory as in PyTorch: pages at its end may be needed while
// pages between live blocks are unbacked. If the backend refuses, half is requested, down to this
// size.
constexpr std::uint64_t kLeastReservation = std::uint64_t{1} << 30;
std::uint64_t reservation_bytes(std::uint64_t total, std::uint64_t page) {
  const std::uint64_t most = kMaxBlockBytes / page;
  return std::min((total + total / 8 + page - 1) / page, most) * page;
}

}  // namespace

Pools::Found CachingAllocator::Expansion::find(const State& state, const PlaceMemory& place,
                                               PoolClass pool, Units size) {
  struct Candidate {
    Pools::Found found;
    Address address = 0;
    bool is_expandable = false;
    [[nodiscard]] bool comes_before(const Candidate& other) const {
      if (other.found.block == kNoBlock) return found.block != kNoBlock;
      if (found.block == kNoBlock) return false;
      return std::pair(found.size, address) < std::pair(other.found.size, other.address);
    }
  };
  const auto first_from = [&](Units least, Address from) VRAMSCOPE_REQUIRES(state) {
    Candidate plain{.found = place.pools.find_from(pool, least, from)};
    plain.address = state.blocks[plain.found.block].address();
    Candidate own{.found = {}, .address = 0, .is_expandable = true};
    if (place.expandable) own.found.block = place.expandable->find(pool, least, from);
    own.found.size = state.blocks[own.found.block].size;
    own.address = state.blocks[own.found.block].address();
    return own.comes_before(plain) ? own : plain;
  };
  const auto possible_size = [&](const Candidate& c) VRAMSCOPE_REQUIRES(state) {
    const Block& next = state.blocks[state.blocks[c.found.block].next];
    return std::uint64_t{c.found.size} + (next.is_unbacked() ? next.size : 0);
  };
  Candidate best = first_from(size, 0);
  while (state.limits.expandable_segments && best.found.block != kNoBlock && best.is_expandable) {
    const Candidate next = first_from(best.found.size, best.address + kUnit);
    if (next.found.block == kNoBlock || possible_size(next) >= possible_size(best)) break;
    best = next;
  }
  return best.found;
}

CachingAllocator::Expansion::Position CachingAllocator::Expansion::first_free(State& state,
                                                                              Place where,
                                                                              std::uint64_t bytes) {
  const PlaceMemory* place = state.places.find(where);
  const bool has_some = place && place->expandable && bytes <= kMaxBlockBytes;
  const BlockIndex block =
      has_some ? place->expandable->find(PoolClass::large, to_units(bytes)) : kNoBlock;
  if (block == kNoBlock) return {Limits::kUnlimited, ~Address{0}};
  return {to_bytes(state.blocks[block].size), state.blocks[block].address()};
}

PlaceMemory* CachingAllocator::Expansion::open_place(State& state, Place where) {
  PlaceMemory* place = state.open_place(where);
  if (!place || !state.prepare_blocks()) return nullptr;
  if (!place->expandable) {
    std::unique_ptr<ExpandableBlocks> made(new (std::nothrow) ExpandableBlocks);
    if (!made || !made->prepare(state.blocks.size())) return nullptr;
    place->expandable = std::move(made);
  }
  return place;
}

// Returns the lowest range of free and unbacked blocks that is large enough. It begins with the
// first unbacked block or the free block before it.
CachingAllocator::Expansion::Room CachingAllocator::Expansion::find_room(const State& state,
                                                                         const PlaceMemory& place,
                                                                         PoolClass pool,
                                                                         Units size) {
  if (state.limits.growing_segments) return Growth::best_room(state, place, pool, size);
  const auto can_serve = [](const Block& b) {
    return b.is_free() || (b.is_unbacked() && (b.where & Block::kHeld) == 0);
  };
  Address from = 0;
  for (;;) {
    BlockIndex first = place.expandable->find_unbacked(pool, from);
    if (first == kNoBlock) return {};
    from = state.blocks[first].address() + kUnit;
    if (state.blocks[state.blocks[first].prev].is_free()) first = state.blocks[first].prev;
    std::uint64_t room = 0;
    for (BlockIndex i = first; room < size && can_serve(state.blocks[i]);) {
      room += state.blocks[i].size;
      i = state.blocks[i].next;
    }
    if (room >= size) return {.first = first};
  }
}

CachingAllocator::Expansion::Room CachingAllocator::Expansion::add_reservation(
    State& state, Place where, PoolClass pool, Units size, Outcome& out) {
  const bool is_coarse = pool == PoolClass::large && !state.limits.growing_segments;
  const std::uint64_t page =
      is_coarse ? round_up(state.limits.large_segment_size, kGranularity) : kSmallSegment;
  const std::uint64_t mapped = (to_bytes(size) + page - 1) / page * page;
  std::uint64_t bytes = reservation_bytes(state.places.find(where)->total_bytes, page);
  Grant grant{.status = {Result::failed, 0}};
  state.unlock();
  for (; bytes >= mapped && !grant.status.ok(); bytes = bytes / 2 / page * page) {
    grant = state.backend.reserve_addresses(where, bytes, page);
    out.backend_ns += grant.ns;
    if (grant.status.ok() || bytes / 2 < kLeastReservation) break;
  }
  state.lock();
  const BlockIndex entered = grant.status.ok() ? enter(state, where, pool, grant.address,
                                                       {.bytes = bytes, .pool = pool, .page = page})
                                               : kNoBlock;
  if (entered != kNoBlock) return {.first = entered, .mapped = mapped};
  out.status = {Result::failed, grant.status.code};
  if (!grant.status.ok()) return {};
  state.unlock();
  state.backend.release_addresses(where, grant.address, bytes);
  state.lock();
  return {};
}

// Enters a reservation as one unbacked block. Returns none if our memory is exhausted or the
// addresses cannot be used.
BlockIndex CachingAllocator::Expansion::enter(State& state, Place where, PoolClass pool,
                                              Address address, Segment segment) {
  const bool usable = state.is_fresh(Kind::device, address, segment.bytes) &&
                      address % kGranularity == 0 &&
                      address <= FreeBlocks::kMaxAddress - segment.bytes;
  PlaceMemory* place = usable ? open_place(state, where) : nullptr;
  if (!place) return kNoBlock;
  if (fence_ == kNoBlock) {
    fence_ = state.blocks.create();
    state.blocks[fence_] = {};
    state.blocks[fence_].where = Block::kHeld | 1;
  }
  if (!state.prepare_blocks() || !state.listed.prepare()) return kNoBlock;
  Segment* entry = nullptr;
  try {
    entry = &state.segments[address];
  } catch (const std::bad_alloc&) {
    return kNoBlock;
  }
  const BlockIndex block = state.blocks.create();
  const std::uint64_t small = pool == PoolClass::small ? Block::kSmall : 0;
  state.blocks[block] = {.where = address | small | Block::kExpandable | Block::kUnbacked | 1,
                         .requested = 0,
                         .size = to_units(segment.bytes),
                         .prev = fence_,
                         .next = kNoBlock,
                         .tag = 0};
  state.blocks.life(block) = {.number = 0, .freed = place->waits.settled(), .place = place->slot};
  segment.first = block;
  segment.slot = place->slot;
  segment.listed = state.listed.add(ListedSegment::Sort::reservation, where, address, segment.bytes,
                                    pool, block);
  *entry = segment;
  insert(state, *place, block);
  ++reservations_;
  state.ranges.device.widen(address, segment.bytes);
  return block;
}

// Needs a record (BlockTable::prepare).
CachingAllocator::Expansion::Chain CachingAllocator::Expansion::hold(State& state,
                                                                     PlaceMemory& place, Room room,
                                                                     Units size) {
  BlockIndex first = room.first;
  if (room.skipped > 0) {
    erase(state, place, first);
    first = cut(state, first, room.skipped);
    insert(state, place, room.first);
    insert(state, place, first);
  }
  std::uint64_t held = 0;
  BlockIndex i = first;
  for (; held < size && i != kNoBlock; i = state.blocks[i].next) {
    erase(state, place, i);
    state.blocks.keep(i);
    Block& b = state.blocks[i];
    held += b.size;
    b.hold();
  }
  return {first, i};
}

// Releases a chain that was not needed or could not be backed. Each block gets its previous state.
void CachingAllocator::Expansion::put_back(State& state, Place where, Chain chain) {
  PlaceMemory& place = *state.places.find(where);
  for (BlockIndex i = chain.first; i != chain.end;) {
    const BlockIndex next = state.blocks[i].next;
    static_cast<void>(put(state, place, i));
    i = next;
  }
}

// Blocks leave every set first, so that nobody gets them while the lock is free. If the device runs
// out of pages, idle pages elsewhere are taken before the call fails.
AnyBlock CachingAllocator::Expansion::grow(State& state, Place where, std::uint64_t bytes,
                                           Outcome& out) {
  out.status = {Result::failed, out.status.code};
  PlaceMemory* place = open_place(state, where);
  if (!place || bytes > kMaxBlockBytes) return {};
  const PoolClass pool = pool_class(bytes);
  const Units size = to_units(bytes);
  Room room = find_room(state, *place, pool, size);
  if (!room) room = add_reservation(state, where, pool, size, out);
  place = room ? state.places.find(where) : nullptr;
  if (!place) return {};
  Chain chain = hold(state, *place, room, size);
  const bool moves = state.limits.growing_segments;
  if (moves) shorten(state, *place, chain, size);
  const std::uint64_t over = moves ? Growth::excess(state, where, room.mapped, bytes) : 0;
  if (!take_idle_pages(state, where, chain, over, out)) return {};
  bool is_backed = back(state, where, chain, size, out);
  if (!is_backed && chain && moves && is_out_of_memory(out)) {
    if (!take_idle_pages(state, where, chain, room.mapped - over, out)) return {};
    is_backed = back(state, where, chain, size, out);
  }
  if (!is_backed) {
    if (chain) put_back(state, where, chain);
    return {};
  }
  place = state.places.find(where);
  return {state.blocks, put_free(state, *place, chain.first)};
}

// Backs the chain from its beginning until it is one block of `size`. If it returns false,
// out.status says why, and the chain holds the rest: nothing if the place has ended.
bool CachingAllocator::Expansion::back(State& state, Place where, Chain& chain, Units size,
                                       Outcome& out) {
  BlockIndex next = chain.first;
  std::uint64_t have = 0;
  while (have < size && next != chain.end) {
    const bool is_unbacked = state.blocks[next].is_unbacked();
    if (is_unbacked) {
      const std::uint64_t wanted = std::min<std::uint64_t>(state.blocks[next].size, size - have);
      if (!map(state, where, chain, next, wanted * kUnit, out)) return false;
    }
    const std::uint64_t requested = state.blocks[is_unbacked ? next : chain.first].requested;
    have += state.blocks[next].size;
    if (next != chain.first) join(state, chain.first, next);
    state.blocks.keep(chain.first);
    state.blocks[chain.first].requested = requested;
    next = state.blocks[chain.first].next;
  }
  out.status = have >= size ? Status{} : Status{Result::failed, 0};
  return have >= size;
}

// Releases what an unbacked block of a chain holds beyond `bytes`. Pages after it may have been
// unmapped while it was held.
BlockIndex CachingAllocator::Expansion::spare(State& state, Place where, BlockIndex block,
                                              std::uint64_t bytes) {
  const BlockIndex rest = cut(state, block, bytes);
  state.blocks[rest].requested = 0;
  return put_unbacked(state, *state.places.find(where), rest);
}

// Maps whole pages for the beginning of an unbacked block of the chain. The chain ends before the
// part that stays unbacked.
bool CachingAllocator::Expansion::map(State& state, Place where, Chain& chain, BlockIndex block,
                                      std::uint64_t bytes, Outcome& out) {
  const Address address = state.blocks[block].address();
  const auto [base, reservation] = *reservation_of(state, address);
  const std::uint64_t page = reservation.page;
  bytes = (bytes + page - 1) / page * page;
  if (exceeds_limit(state.accounts, where, bytes, out) || !state.prepare_blocks()) {
    out.status.result = out.by_limit ? Result::out_of_memory : Result::failed;
    return false;
  }
  if (to_bytes(state.blocks[block].size) > bytes) chain.end = spare(state, where, block, bytes);
  state.accounts.capacities().ask(where, bytes);
  Grant grant;
  const bool is_here = run_page_operation(
      state, base, [&] { grant = state.backend.map(where, address, bytes, page); });
  note_grant(state.accounts, where, grant, out);
  state.accounts.capacities().end_asking(where, bytes);
  state.blocks.keep(block);
  Block& b = state.blocks[block];
  if (grant.status.ok()) b.set_where(b.where & ~Block::kUnbacked);
  if (!is_here) {
    chain = {};
    drop_abandoned(state, where);
    out.status = {Result::failed, 0};
    return false;
  }
  if (out.status.result != Result::ok && out.status.result != Result::out_of_memory) {
    out.status.result = Result::failed;  // also if a capture forbids it
  }
  if (!grant.status.ok()) return false;
  const PlaceMemory& place = *state.places.find(where);
  state.accounts.change_pages(where, reservation.pool, bytes, &Stat::increase);
  state.blocks.life(block).freed = place.waits.settled();
  return true;
}

}  // namespace vramscope
