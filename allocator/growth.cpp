// SPDX-License-Identifier: Apache-2.0
#include "allocator/growth.h"

#include <algorithm>
#include <iterator>

#include "allocator/base/size_policy.h"

namespace vramscope {
namespace {

// The number of unbacked blocks that a search examines after it has found a sufficient one, since
// it holds the lock.
constexpr int kMostLookedAt = 1000;
// Reserved memory may exceed the highest live memory by one part in this many. Without slack pages
// would move at almost every miss. test/bench/README.md compares other values.
constexpr std::uint64_t kSlack = 32;

}  // namespace

std::uint64_t CachingAllocator::Growth::page_at(const State& state, Address address) {
  return std::prev(state.segments.upper_bound(address))->second.page;
}

// Returns the consecutive free and unbacked blocks from `first` on, as far as they are needed.
CachingAllocator::Growth::Room CachingAllocator::Growth::room_from(const State& state,
                                                                   BlockIndex first, Units size,
                                                                   std::uint64_t page) {
  std::uint64_t have = 0, mapped = 0;
  for (BlockIndex i = first; have < size;) {
    const Block& b = state.blocks[i];
    const bool is_unbacked = b.is_unbacked() && (b.where & Block::kHeld) == 0;
    if (!b.is_free() && !is_unbacked) return {};
    if (is_unbacked) {
      const std::uint64_t wanted = std::min<std::uint64_t>(b.size, size - have);
      mapped += (to_bytes(static_cast<Units>(wanted)) + page - 1) / page * page;
    }
    have += b.size;
    i = b.next;
  }
  return {.first = first, .mapped = mapped};
}

// Returns the end of an unbacked block and the free block after it.
CachingAllocator::Growth::Room CachingAllocator::Growth::room_before(const State& state,
                                                                     BlockIndex unbacked,
                                                                     Units size,
                                                                     std::uint64_t page) {
  const Block& u = state.blocks[unbacked];
  const Block& behind = state.blocks[u.next];
  if (!behind.is_free() || behind.size >= size) return {};
  const std::uint64_t mapped = (to_bytes(size - behind.size) + page - 1) / page * page;
  if (mapped >= to_bytes(u.size)) return {};
  return {.first = unbacked, .skipped = to_bytes(u.size) - mapped, .mapped = mapped};
}

CachingAllocator::Growth::Room CachingAllocator::Growth::best_room(const State& state,
                                                                   const PlaceMemory& place,
                                                                   PoolClass pool, Units size) {
  Room best;
  Address from = 0;
  for (int looked = 0; looked < kMostLookedAt || !best; ++looked) {
    const BlockIndex unbacked = place.expandable->find_unbacked(pool, from);
    if (unbacked == kNoBlock) break;
    const Block& u = state.blocks[unbacked];
    from = u.address() + kUnit;
    const std::uint64_t page = page_at(state, u.address());
    const BlockIndex first = state.blocks[u.prev].is_free() ? u.prev : unbacked;
    for (const Room& room :
         {room_from(state, first, size, page), room_before(state, unbacked, size, page)}) {
      if (room && (!best || room.mapped < best.mapped)) best = room;
    }
  }
  return best;
}

std::uint64_t CachingAllocator::Growth::excess(State& state, Place where, std::uint64_t mapped,
                                               std::uint64_t requested) {
  const CapacityUse& ours = state.accounts.capacities().use(where.device);
  DeviceStatistics counted;
  static_cast<void>(state.accounts.read(where.device, counted));
  const Stat live = counted.allocated_bytes.all;
  const std::uint64_t most = std::max(static_cast<std::uint64_t>(live.peak),
                                      static_cast<std::uint64_t>(live.current) + requested);
  const std::uint64_t allowed = most + most / kSlack;
  const std::uint64_t reserved = ours.reserved + ours.awaited + mapped;
  return std::min(mapped, round_up(reserved - std::min(reserved, allowed), kGranularity));
}

}  // namespace vramscope
