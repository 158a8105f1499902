// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/expandable_blocks.h"

namespace vramscope {
namespace {

// Trees find the greatest key, which is the lowest address.
KeyTrees::Key key_of(Address address) { return ~address; }

}  // namespace

void ExpandableBlocks::insert(const BlockTable& blocks, BlockIndex block) noexcept {
  const Block& b = blocks[block];
  if (b.is_unbacked()) {
    trees_.insert(unbacked_of(b.pool()), key_of(b.address()), block);
  } else {
    free_of(b.pool()).insert(sort_of(b.pool(), b.size), block, b.size, b.address());
  }
}

void ExpandableBlocks::erase(const BlockTable& blocks, BlockIndex block) noexcept {
  const Block& b = blocks[block];
  if (b.is_unbacked()) {
    trees_.erase(unbacked_of(b.pool()), key_of(b.address()));
  } else {
    free_of(b.pool()).erase(sort_of(b.pool(), b.size), b.size, b.address());
  }
}

BlockIndex ExpandableBlocks::find(PoolClass pool, Units size, Address from) const noexcept {
  const FreeBlocks& free = sets_[static_cast<std::size_t>(pool)];
  const PoolClass sort = sort_of(pool, size);
  const BlockIndex block = free.find_from(sort, size, from).block;
  if (block != kNoBlock || sort == PoolClass::large) return block;
  return free.find_from(PoolClass::large, kMostSmall + 1, 0).block;
}

BlockIndex ExpandableBlocks::find_unbacked(PoolClass pool, Address from) const noexcept {
  return trees_.find(unbacked_[static_cast<std::size_t>(pool)], key_of(from)).block;
}

}  // namespace vramscope
