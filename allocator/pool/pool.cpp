// Splits and merges the blocks of a pool.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/pool.h"

#include "allocator/base/fault.h"

#include <cassert>

namespace vramscope {
namespace {

std::int64_t signed_bytes(Units size) { return static_cast<std::int64_t>(to_bytes(size)); }

}  // namespace

BlockIndex Pools::add_segment(PoolClass pool, BlockTable& blocks, Address address, Units size,
                              Waits::Number freed) noexcept {
  const BlockIndex block = blocks.create();
  const std::uint64_t flags = (pool == PoolClass::small ? Block::kSmall : 0) | Block::kFree;
  blocks[block] = Block{.where = address | flags,
                        .requested = 0,
                        .size = size,
                        .prev = kNoBlock,
                        .next = kNoBlock,
                        .tag = searches(pool)};
  blocks.life(block) = {.number = 0, .freed = freed, .place = place_};
  idle_units_ += size;
  free_.insert(pool, block, size, address);
  return block;
}

void Pools::set_aside(BlockTable& blocks, BlockIndex block) noexcept {
  const Block& b = blocks[block];
  assert(b.is_free() && !b.is_part());
  idle_units_ -= b.size;
  free_.erase(b.pool(), b.size, b.address());
  if (b.is_mapped()) blocks.erase(block);
}

void Pools::restore(const BlockTable& blocks, BlockIndex block) noexcept {
  const Block& b = blocks[block];
  assert(b.is_free() && !b.is_part() && !b.is_mapped());
  idle_units_ += b.size;
  free_.insert(b.pool(), block, b.size, b.address());
}

// The lower part keeps the record, so that a segment's first block is always the same record. The
// rest inherits requested_size, because PyTorch's snapshots show that of the last allocation.
void Pools::cut_off(PoolClass pool, BlockTable& blocks, BlockIndex block, Units size,
                    Units rest) noexcept {
  const BlockIndex above = blocks.create();
  Block& lower = blocks[block];
  Block& upper = blocks[above];
  const std::uint64_t where = (lower.where & ~Block::kMapped) + to_bytes(size);
  const BlockIndex next = lower.next;
  if (fault(Fault::linked_unwritten)) lower.follow_by(above);
  upper.set_where(where);
  upper.requested = lower.requested;
  upper.size = fault(Fault::split_loses_bytes) && rest > 1 ? rest - 1 : rest;
  upper.prev = block;
  upper.follow_by(next);
  upper.tag = searches(pool);
  blocks[next].prev = above;
  BlockLife& life = blocks.life(above);
  life.place = place_;
  life.freed = blocks.life(block).freed;
  lower.follow_by(above);
  lower.size = size;
  free_.insert(pool, above, rest, where & ~Block::kFlags);
}

SplitChange Pools::take(PoolClass pool, BlockTable& blocks, const Found& found,
                        Units size) noexcept {
  const BlockIndex block = found.block;
  assert(blocks[block].is_free() && blocks[block].size == found.size && found.size >= size);
  free_.erase(pool, found.slot);
  const bool was_part = blocks[block].is_part();
  const Units rest = found.size - size;
  if (rest > 0) cut_off(pool, blocks, block, size, rest);
  if (!blocks[block].is_mapped()) blocks.insert(block);
  if (was_part) return {.count = rest > 0 ? 0 : -1, .bytes = -signed_bytes(size)};
  idle_units_ -= found.size;
  return {.count = rest > 0, .bytes = signed_bytes(rest)};
}

// Numbers all of them, since any of the merging records may stay.
void Pools::number(BlockTable& blocks, BlockIndex block, Waits::Number freed) noexcept {
  const Block& b = blocks[block];
  for (const BlockIndex neighbour : {b.prev, b.next}) {
    if (blocks[neighbour].is_free()) freed = Waits::newer(freed, blocks.life(neighbour).freed);
  }
  blocks.life(block).freed = freed;
  if (blocks[b.prev].is_free()) blocks.life(b.prev).freed = freed;
}

SplitChange Pools::give_back(PoolClass pool, BlockTable& blocks, BlockTable::Entry entry) noexcept {
  BlockIndex block = entry.block;
  assert(!blocks[block].is_free());
  const Units own = blocks[block].size;
  const BlockIndex next = blocks[block].next;
  Units size = own;
  std::int64_t merged = 0;
  if (const BlockIndex prev = blocks[block].prev; blocks[prev].is_free()) {
    Block& p = blocks[prev];
    size += p.size;
    ++merged;
    free_.erase(pool, p.size, p.address());
    p.requested = blocks[block].requested;
    p.follow_by(next);
    blocks[next].prev = prev;
    blocks.erase(entry);
    blocks.destroy(block);
    block = prev;
  } else {
    if (!fault(Fault::freed_after_merging)) blocks[block].set_state(BlockState::inactive);
  }
  if (blocks[next].is_free()) {
    const Block& n = blocks[next];
    const BlockIndex after = n.next;
    size += n.size;
    ++merged;
    free_.erase(pool, n.size, n.address());
    blocks[block].follow_by(after);
    blocks[after].prev = block;
    if (n.is_mapped()) blocks.erase(next);
    blocks.destroy(next);
  }
  Block& b = blocks[block];
  if (fault(Fault::freed_after_merging)) b.set_state(BlockState::inactive);
  b.size = size;
  b.tag = searches(pool);
  free_.insert(pool, block, size, b.address());
  if (b.is_part()) return {.count = 1 - merged, .bytes = signed_bytes(own)};
  idle_units_ += size;
  return {.count = -merged, .bytes = signed_bytes(own) - signed_bytes(size)};
}

}  // namespace vramscope
