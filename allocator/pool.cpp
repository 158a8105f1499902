// Splitting and merging the blocks of a pool.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool.h"

#include "allocator/fault.h"

#include <cassert>

namespace vramscope {
namespace {

std::int64_t signed_bytes(Units size) { return static_cast<std::int64_t>(to_bytes(size)); }

}  // namespace

BlockIndex Pools::add_segment(PoolClass pool, Address address, Units size,
                              Waits::Number freed) noexcept {
  const BlockIndex block = blocks_.create();
  const std::uint64_t flags = (pool == PoolClass::small ? Block::kSmall : 0) | Block::kFree;
  blocks_[block] = Block{.where = address | flags,
                         .requested = 0,
                         .size = size,
                         .prev = kNoBlock,
                         .next = kNoBlock,
                         .tag = searches(pool)};
  blocks_.life(block) = {.left = 0, .right = 0, .freed = freed, .place = place_};
  idle_units_ += size;
  free_.insert(pool, block, size, address);
  return block;
}

void Pools::remove_segment(BlockIndex block) noexcept {
  const Block& b = blocks_[block];
  assert(b.is_free() && !b.is_part());
  idle_units_ -= b.size;
  free_.erase(b.pool(), block, b.size, b.address());
  if (b.is_mapped()) blocks_.erase(block);
  blocks_.destroy(block);
}

// The lower part keeps the record, so a segment's first block is one record all its life. The
// rest inherits requested_size: PyTorch's snapshots show that of the last life.
void Pools::cut_off(PoolClass pool, BlockIndex block, Units size, Units rest) noexcept {
  const BlockIndex above = blocks_.create();
  Block& lower = blocks_[block];
  Block& upper = blocks_[above];
  const std::uint64_t where = (lower.where & ~Block::kMapped) + to_bytes(size);
  const BlockIndex next = lower.next;
  upper.where = where;
  upper.requested = lower.requested;
  upper.size = fault(Fault::split_loses_bytes) && rest > 1 ? rest - 1 : rest;
  upper.prev = block;
  upper.next = next;
  upper.tag = searches(pool);
  blocks_[next].prev = above;
  lower.next = above;
  lower.size = size;
  BlockLife& life = blocks_.life(above);
  life.freed = blocks_.life(block).freed;
  life.place = place_;
  free_.insert(pool, above, rest, where & ~Block::kFlags);
}

SplitChange Pools::take(PoolClass pool, const Found& found, Units size) noexcept {
  const BlockIndex block = found.block;
  assert(blocks_[block].is_free() && blocks_[block].size == found.size && found.size >= size);
  free_.erase(pool, found);
  const bool was_part = blocks_[block].is_part();
  const Units rest = found.size - size;
  if (rest > 0) cut_off(pool, block, size, rest);
  Block& b = blocks_[block];
  b.where &= ~Block::kStates;
  if (!b.is_mapped()) blocks_.insert(block);
  if (was_part) return {.count = rest > 0 ? 0 : -1, .bytes = -signed_bytes(size)};
  idle_units_ -= found.size;
  return {.count = rest > 0, .bytes = signed_bytes(rest)};
}

SplitChange Pools::give_back(PoolClass pool, BlockTable::Entry entry,
                             Waits::Number freed) noexcept {
  BlockIndex block = entry.block;
  assert(!blocks_[block].is_free());
  const std::uint64_t requested = blocks_[block].requested;
  const Units own = blocks_[block].size;
  const BlockIndex prev = blocks_[block].prev;
  Units size = own;
  std::int64_t merged = 0;
  if (const BlockIndex next = blocks_[block].next; blocks_[next].is_free()) {
    const Block& n = blocks_[next];
    const BlockIndex after = n.next;
    size += n.size;
    ++merged;
    freed = Waits::newer(freed, blocks_.life(next).freed);
    free_.erase(pool, next, n.size, n.address());
    blocks_[after].prev = block;
    blocks_[block].next = after;
    blocks_.destroy(next);
  }
  if (blocks_[prev].is_free()) {
    const BlockIndex after = blocks_[block].next;
    Block& p = blocks_[prev];
    size += p.size;
    ++merged;
    freed = Waits::newer(freed, blocks_.life(prev).freed);
    free_.erase(pool, prev, p.size, p.address());
    p.next = after;
    p.requested = requested;
    blocks_[after].prev = prev;
    blocks_.erase(entry);
    blocks_.destroy(block);
    block = prev;
  } else if (blocks_[block].is_part()) {
    blocks_.erase(entry);
  }
  Block& b = blocks_[block];
  b.where = (b.where & ~Block::kStates) | Block::kFree;
  b.size = size;
  b.tag = searches(pool);
  blocks_.life(block).freed = freed;
  free_.insert(pool, block, size, b.address());
  if (b.is_part()) return {.count = 1 - merged, .bytes = signed_bytes(own)};
  idle_units_ += size;
  return {.count = -merged, .bytes = signed_bytes(own) - signed_bytes(size)};
}

}  // namespace vramscope
