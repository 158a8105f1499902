// Expandable blocks are the blocks of a place that lie in reservations. Free ones are found by
// size, unbacked ones by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/pool/block_table.h"
#include "allocator/pool/free_blocks.h"
#include "allocator/pool/key_trees.h"

namespace vramscope {

// A reservation is a range of addresses, some of whose pages are backed with memory. Blocks tile it
// like a segment: live, pending and free blocks lie on backed pages, unbacked blocks cover the
// rest. A fence record precedes its first block, so that a block always counts as part of a split
// segment.
// This class makes no decisions. It holds sets of records of the common table. Threads: one at a
// time.
class ExpandableBlocks {
 public:
  // Makes room for this many blocks. Returns false if memory is exhausted.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept {
    return sets_[0].prepare(blocks) && sets_[1].prepare(blocks) && trees_.prepare(2, blocks);
  }

  // Insert or erase a free or unbacked block, according to its state.
  void insert(const BlockTable& blocks, BlockIndex block) noexcept;
  void erase(const BlockTable& blocks, BlockIndex block) noexcept;

  // Returns the first free block from (size, address) on, in that order; kNoBlock if there is none.
  [[nodiscard]] BlockIndex find(PoolClass pool, Units size, Address from = 0) const noexcept;
  // Returns the first unbacked block from an address on; kNoBlock if there is none.
  [[nodiscard]] BlockIndex find_unbacked(PoolClass pool, Address from) const noexcept;

  // Bytes of whole free pages. The code that changes the sets maintains it.
  std::uint64_t idle_bytes = 0;

 private:
  static constexpr Units kMostSmall = kSmallSegment / kUnit;
  // Blocks of the small pool can grow beyond the small bins of FreeBlocks.
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
