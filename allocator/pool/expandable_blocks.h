// The blocks of a place that lie in reservations: free ones by size, unbacked ones by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/pool/block_table.h"
#include "allocator/pool/free_blocks.h"
#include "allocator/pool/key_trees.h"

namespace vramscope {

// A reservation is a range of addresses of which some pages are backed with memory. Blocks tile it,
// like a segment: live, pending and free ones lie on backed pages, unbacked ones are the rest. The
// record before its first block is a fence, so that a block is always part of more.
// Mechanism only; sets of records of the one table of all. Threads: one at a time.
class ExpandableBlocks {
 public:
  // Capacity for so many blocks. False: out of memory.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept {
    return sets_[0].prepare(blocks) && sets_[1].prepare(blocks) && trees_.prepare(2, blocks);
  }

  // A block that is free or unbacked, by its state.
  void insert(const BlockTable& blocks, BlockIndex block) noexcept;
  void erase(const BlockTable& blocks, BlockIndex block) noexcept;

  // The first free block from there on in the order of (size, address); kNoBlock: none.
  [[nodiscard]] BlockIndex find(PoolClass pool, Units size, Address from = 0) const noexcept;
  // The first unbacked block from there on; kNoBlock: none.
  [[nodiscard]] BlockIndex find_unbacked(PoolClass pool, Address from) const noexcept;

  // Bytes of whole pages that are free; kept by who changes the sets.
  std::uint64_t idle_bytes = 0;

 private:
  static constexpr Units kMostSmall = kSmallSegment / kUnit;
  // Blocks of the small pool grow beyond what FreeBlocks takes for small.
  [[nodiscard]] static PoolClass sort_of(PoolClass pool, Units size) {
    return size <= kMostSmall ? pool : PoolClass::large;
  }
  [[nodiscard]] FreeBlocks& free_of(PoolClass pool) {
    return sets_[static_cast<std::size_t>(pool)];
  }
  [[nodiscard]] KeyTrees::Root& unbacked_of(PoolClass pool) {
    return unbacked_[static_cast<std::size_t>(pool)];
  }

  std::array<FreeBlocks, 2> sets_;  // by PoolClass
  KeyTrees trees_;
  std::array<KeyTrees::Root, 2> unbacked_{};
};

}  // namespace vramscope
