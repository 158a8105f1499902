// Cuts, joins, hands out and takes back the blocks of a reservation. A merge keeps the record of
// the lowest block, with the requested size of the block that changed state last.
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <iterator>

#include "allocator/state.h"

namespace vramscope {
namespace {

// Whether a snapshot shows a block as part of the previous one: both look free, but a thread that
// is mapping pages holds one of them.
bool is_shown_with_previous(const BlockTable& blocks, const Block& block) {
  const auto is_shown_free = [](const Block& b) {
    return b.is_expandable() && !b.is_unbacked() && (b.is_free() || b.is_aside());
  };
  return is_shown_free(block) && is_shown_free(blocks[block.prev]);
}

}  // namespace

Segments::const_iterator CachingAllocator::Expansion::reservation_of(const State& state,
                                                                     Address address) {
  return std::prev(state.segments.upper_bound(address));
}

CachingAllocator::Expansion::Pages CachingAllocator::Expansion::pages_in(const State& state,
                                                                         const Block& block) {
  const auto& [base, reservation] = *reservation_of(state, block.address());
  const std::uint64_t page = reservation.page;
  const std::uint64_t from = block.address() - base;
  const std::uint64_t to = from + to_bytes(block.size);
  return {base + (from + page - 1) / page * page, base + to / page * page};
}

// Insert a block into its set, and erase it.
void CachingAllocator::Expansion::insert(State& state, PlaceMemory& place, BlockIndex block) {
  const Block& b = state.blocks[block];
  if (b.is_free()) place.expandable->idle_bytes += pages_in(state, b).bytes();
  place.expandable->insert(state.blocks, block);
}

void CachingAllocator::Expansion::erase(State& state, PlaceMemory& place, BlockIndex block) {
  const Block& b = state.blocks[block];
  if (b.is_free()) place.expandable->idle_bytes -= pages_in(state, b).bytes();
  place.expandable->erase(state.blocks, block);
}

// Cuts a block that is in no set. The upper part gets a record of its own and the same state. Needs
// a record (BlockTable::prepare).
BlockIndex CachingAllocator::Expansion::cut(State& state, BlockIndex block, std::uint64_t bytes) {
  state.blocks.keep(block);
  const BlockIndex above = state.blocks.create();
  Block& lower = state.blocks[block];
  state.blocks[above] = {.where = (lower.where & ~Block::kMapped) + bytes,
                         .requested = lower.requested,
                         .size = lower.size - to_units(bytes),
                         .prev = block,
                         .next = lower.next,
                         .tag = lower.tag};
  state.blocks.life(above) = {.number = 0,
                              .freed = state.blocks.life(block).freed,
                              .place = state.blocks.life(block).place};
  state.blocks[lower.next].prev = above;
  publish_all(lower.next, above);
  lower.size = to_units(bytes);
  return above;
}

BlockIndex CachingAllocator::Expansion::join(State& state, BlockIndex lower, BlockIndex upper) {
  state.blocks.keep(lower);
  state.blocks.keep(upper);
  Block& l = state.blocks[lower];
  const Block& u = state.blocks[upper];
  l.size += u.size;
  l.follow_by(u.next);
  state.blocks[u.next].prev = lower;
  BlockLife& life = state.blocks.life(lower);
  life.freed = Waits::newer(life.freed, state.blocks.life(upper).freed);
  if (u.is_mapped()) state.blocks.erase(upper);
  state.blocks.destroy(upper);
  return lower;
}

// Joins a block with neighbours of the same state, which are in their set.
template <class Same>
BlockIndex CachingAllocator::Expansion::merge(State& state, PlaceMemory& place, BlockIndex block,
                                              Same same) {
  const std::uint64_t requested = state.blocks[block].requested;
  if (const BlockIndex prev = state.blocks[block].prev; same(state.blocks[prev])) {
    erase(state, place, prev);
    block = join(state, prev, block);
  }
  if (const BlockIndex next = state.blocks[block].next; same(state.blocks[next])) {
    erase(state, place, next);
    block = join(state, block, next);
  }
  state.blocks[block].requested = requested;
  return block;
}

BlockIndex CachingAllocator::Expansion::put_free(State& state, PlaceMemory& place,
                                                 BlockIndex block) {
  constexpr std::uint64_t kCleared = Block::kStates | Block::kHeld | Block::kUnbacked;
  state.blocks.keep(block);
  Block& b = state.blocks[block];
  b.set_where((b.where & ~kCleared) | Block::kFree);
  block = merge(state, place, block, [](const Block& other) { return other.is_free(); });
  insert(state, place, block);
  return block;
}

BlockIndex CachingAllocator::Expansion::put_unbacked(State& state, PlaceMemory& place,
                                                     BlockIndex block) {
  if (state.blocks[block].is_mapped()) state.blocks.erase(block);
  state.blocks.keep(block);
  Block& b = state.blocks[block];
  b.set_where((b.where & ~(Block::kHeld | Block::kStates)) | Block::kUnbacked | 1);
  block = merge(state, place, block, [](const Block& other) {
    return other.is_unbacked() && (other.where & Block::kHeld) == 0;
  });
  insert(state, place, block);
  return block;
}

BlockIndex CachingAllocator::Expansion::put(State& state, PlaceMemory& place, BlockIndex block) {
  return state.blocks[block].is_unbacked() ? put_unbacked(state, place, block)
                                           : put_free(state, place, block);
}

void CachingAllocator::Expansion::hand_out(State& state, PlaceMemory& place, BlockIndex block,
                                           Units size, Outcome& out) {
  BlockTable& blocks = state.blocks;
  assert(blocks[block].is_free() && blocks[block].size >= size);
  erase(state, place, block);
  if (blocks[block].size > size) insert(state, place, cut(state, block, to_bytes(size)));
  Block& b = blocks[block];
  if (!b.is_mapped()) blocks.insert(block);
  b.belong_to(out.tag, out.requested);
  out.serial = state.next_serial();
  blocks.life(block).set_serial(out.serial);
  state.accounts.came(place.accounts, b.counted(), {}, out.serial);
  b.set_state(BlockState::active_allocated);
}

std::size_t CachingAllocator::Expansion::hidden_records(const State& state) const {
  std::size_t hidden = fence_ != kNoBlock ? 1 : 0;
  for (const auto& [address, segment] : state.segments) {
    if (segment.page == 0) continue;
    for (BlockIndex i = segment.first; i != kNoBlock; i = state.blocks[i].next) {
      const Block& b = state.blocks[i];
      hidden += b.is_unbacked() || is_shown_with_previous(state.blocks, b);
    }
  }
  for (const auto& [address, reservation] : abandoned_reservations_) {
    for (BlockIndex i = reservation.first; i != kNoBlock; i = state.blocks[i].next) ++hidden;
  }
  return hidden;
}

}  // namespace vramscope
