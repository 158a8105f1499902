// Splitting and merging the blocks of a pool.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool.h"

#include <cassert>

namespace vramscope {
namespace {

std::int64_t signed_bytes(Units size) { return static_cast<std::int64_t>(to_bytes(size)); }

}  // namespace

void Pool::add_free(BlockIndex block) noexcept {
  Block& b = blocks_[block];
  b.state = BlockState::inactive;
  b.tag = searches_;
  list_free(block);
}

void Pool::list_free(BlockIndex block) noexcept {
  const Block& b = blocks_[block];
  if (!b.is_part()) idle_bytes_ += to_bytes(b.size);
  free_.insert(block);
}

void Pool::remove_free(BlockIndex block) noexcept {
  const Block& b = blocks_[block];
  if (!b.is_part()) idle_bytes_ -= to_bytes(b.size);
  free_.erase(block);
}

BlockIndex Pool::add_segment(Address address, Units size, Waits::Number freed) noexcept {
  const BlockIndex block = blocks_.create();
  blocks_[block] = Block{.address = address,
                         .requested = 0,
                         .size = size,
                         .prev = kNoBlock,
                         .next = kNoBlock,
                         .tag = 0,
                         .place = place_,
                         .state = BlockState::inactive,
                         .pool = kind_,
                         .left = 0,
                         .right = 0,
                         .freed = freed};
  add_free(block);
  return block;
}

void Pool::set_aside(BlockIndex block) noexcept {
  assert(blocks_[block].is_free() && !blocks_[block].is_part());
  remove_free(block);
}

void Pool::restore(BlockIndex block) noexcept {
  assert(blocks_[block].is_free() && !blocks_[block].is_part());
  list_free(block);
}

// The lower part keeps the record, so a segment's first block is one record all its life. The
// rest inherits requested_size: PyTorch's snapshots show that of the last life.
void Pool::cut_off(BlockIndex block, Units size) noexcept {
  const BlockIndex rest = blocks_.create();
  Block& lower = blocks_[block];
  Block& upper = blocks_[rest];
  upper.address = lower.address + to_bytes(size);  // field by field: a copy of the record as a
  upper.requested = lower.requested;               // whole would wait for its latest stores
  upper.size = lower.size - size;
  upper.prev = block;
  upper.next = lower.next;
  upper.place = place_;
  upper.pool = kind_;
  upper.freed = lower.freed;
  lower.size = size;
  lower.next = rest;
  blocks_[upper.next].prev = rest;
  add_free(rest);
}

SplitChange Pool::take(BlockIndex block, Units size, Cut cut) noexcept {
  assert(blocks_[block].is_free() && blocks_[block].size >= size);
  remove_free(block);
  Block& b = blocks_[block];
  const bool was_part = b.is_part();
  const Units rest = b.size - size;
  if (cut == Cut::yes && rest > 0) cut_off(block, size);
  b.state = BlockState::active_allocated;
  if (was_part)
    return {.count = b.size == size && rest > 0 ? 0 : -1, .bytes = -signed_bytes(b.size)};
  if (b.is_part()) return {.count = 1, .bytes = signed_bytes(rest)};
  return {};
}

SplitChange Pool::give_back(BlockIndex block, Waits::Number freed) noexcept {
  assert(!blocks_[block].is_free());
  const Units own = blocks_[block].size;
  const std::uint64_t requested = blocks_[block].requested;
  std::int64_t merged = 0;
  if (const BlockIndex next = blocks_[block].next; blocks_[next].is_free()) {
    remove_free(next);
    blocks_[block].size += blocks_[next].size;
    freed = Waits::newer(freed, blocks_[next].freed);
    blocks_[block].next = blocks_[next].next;
    blocks_[blocks_[next].next].prev = block;
    blocks_.destroy(next);
    ++merged;
  }
  if (const BlockIndex prev = blocks_[block].prev; blocks_[prev].is_free()) {
    remove_free(prev);
    blocks_[prev].size += blocks_[block].size;
    freed = Waits::newer(freed, blocks_[prev].freed);
    blocks_[prev].next = blocks_[block].next;
    blocks_[blocks_[block].next].prev = prev;
    blocks_.destroy(block);
    block = prev;
    ++merged;
  }
  Block& b = blocks_[block];
  b.requested = requested;
  b.freed = freed;
  add_free(block);
  const bool is_part = b.is_part();
  return {.count = is_part - merged,
          .bytes = is_part ? signed_bytes(own) : signed_bytes(own) - signed_bytes(b.size)};
}

}  // namespace vramscope
