// Takes idle pages for a request.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "allocator/base/size_policy.h"
#include "allocator/state.h"

namespace vramscope {
namespace {

// The number of small free blocks that are searched for whole pages, since the lock is held.
constexpr int kMostSmallBlocks = 1000;
// A block of this size contains a whole page at any address.
constexpr Units kWithPage = 2 * kGranularity / kUnit - 1;

}  // namespace

// Releases the part of a free block at the end of a chain that is not needed. Needs a record.
void CachingAllocator::Expansion::shorten(State& state, PlaceMemory& place, Chain& chain,
                                          Units size) {
  BlockIndex last = chain.first;
  std::uint64_t before = 0;
  while (state.blocks[last].next != chain.end) {
    before += state.blocks[last].size;
    last = state.blocks[last].next;
  }
  if (state.blocks[last].is_unbacked() || before + state.blocks[last].size <= size) return;
  const BlockIndex rest = cut(state, last, to_bytes(static_cast<Units>(size - before)));
  Block& b = state.blocks[rest];
  b.set_where((b.where & ~(Block::kHeld | Block::kStates)) | Block::kFree);
  insert(state, place, rest);
  chain.end = rest;
}

// Releases `bytes` of a place's idle pages, those in the smallest blocks first, which serve the
// fewest requests. Returns false if the held `chain` went with its place.
bool CachingAllocator::Expansion::take_idle_pages(State& state, Place where, Chain chain,
                                                  std::uint64_t bytes, Outcome& out) {
  if (bytes == 0 || state.places.find(where)->expandable->idle_bytes == 0) return true;
  PageOperation operation{.reservation =
                              reservation_of(state, state.blocks[chain.first].address())->first};
  operation.begin(page_operations_);
  if (prove_unused(state, where, out)) {
    for (const PoolClass pool : {PoolClass::large, PoolClass::small}) {
      bytes -= std::min(bytes, take_idle_pages(state, where, pool, bytes, out));
    }
  }
  if (operation.end(page_operations_)) return true;
  drop_abandoned(state, where);
  return false;
}

// Returns how many bytes went back.
std::uint64_t CachingAllocator::Expansion::take_idle_pages(State& state, Place where,
                                                           PoolClass pool, std::uint64_t bytes,
                                                           Outcome& out) {
  std::uint64_t taken = 0;
  Units size = kGranularity / kUnit;
  Address from = 0;
  for (int looked = 0; taken < bytes; ++looked) {
    if (looked == kMostSmallBlocks && size < kWithPage) size = kWithPage, from = 0;
    const PlaceMemory* place = state.places.find(where);
    if (!place || place->expandable->idle_bytes == 0) break;
    const BlockIndex block = place->expandable->find(pool, size, from);
    if (block == kNoBlock) break;
    const Block& b = state.blocks[block];
    size = b.size;
    from = b.address() + kUnit;
    Pages pages = pages_in(state, b);
    if (pages.bytes() == 0 || !is_unused(state, *place, block)) continue;
    const std::uint64_t page = reservation_of(state, b.address())->second.page;
    const std::uint64_t part = std::min(pages.bytes(), (bytes - taken + page - 1) / page * page);
    // Takes the pages beside unbacked addresses, with which they merge.
    if (state.blocks[b.next].is_unbacked() && !state.blocks[b.prev].is_unbacked()) {
      pages.begin = pages.end - part;
    } else {
      pages.end = pages.begin + part;
    }
    if (!state.prepare_blocks() || !unmap(state, where, block, pages, out)) break;
    taken += pages.bytes();
  }
  return taken;
}

}  // namespace vramscope
