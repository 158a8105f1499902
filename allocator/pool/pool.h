// The two pools of a place cut segments into blocks, and merge blocks that are free again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/limits.h"
#include "allocator/books/device_counters.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/free_blocks.h"

namespace vramscope {

// This class makes no decisions. Its blocks live in the common table, which each call passes.
// Blocks that are not free can be found there by address. A free block keeps its entry until it
// merges, so that taking and freeing it again does not write the map. The pool is an argument for
// the reason that free_blocks.h gives.
// Threads: one at a time.
class Pools {
 public:
  explicit Pools(std::uint16_t place) : place_(place) {}

  // Makes room for this many free blocks in advance. Returns false if memory is exhausted.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept { return free_.prepare(blocks); }

  // Returns the smallest free block of at least `size`, the lowest address among equals; kNoBlock
  // if there is none.
  using Found = FreeBlocks::Found;
  [[nodiscard]] Found find(PoolClass pool, Units size) const noexcept {
    return free_.find(pool, size);
  }
  // Returns the first free block from (size, address) on, in that order.
  [[nodiscard]] Found find_from(PoolClass pool, Units size, Address address) const noexcept {
    return free_.find_from(pool, size, address);
  }
  // Returns a free block of the pool with its slot.
  [[nodiscard]] static Found found(PoolClass pool, const BlockTable& blocks, BlockIndex block) {
    return FreeBlocks::found(pool, block, blocks[block].size, blocks[block].address());
  }

  // The age of a free block is the number of searches of its pool, or of failed searches, since it
  // became free. Code that gives the oldest blocks back uses it.
  void count_search(PoolClass pool) noexcept { ++searches_[static_cast<std::size_t>(pool)]; }
  [[nodiscard]] std::uint32_t age(const Block& block) const {
    return searches(block.pool()) - block.tag;
  }

  // Adds a segment as one free block, which nothing has used since the wait numbered `freed`. Needs
  // one record (BlockTable::prepare).
  BlockIndex add_segment(PoolClass pool, BlockTable& blocks, Address address, Units size,
                         Waits::Number freed = 0) noexcept;
  // Removes a segment that is one free block from its pool and the map. Its record and the room for
  // it stay, for restore() or BlockTable::destroy().
  void set_aside(BlockTable& blocks, BlockIndex block) noexcept;
  // Undoes set_aside().
  void restore(const BlockTable& blocks, BlockIndex block) noexcept;

  // Takes the lower `size` units of a free block, which the caller makes live when all their fields
  // are set. The rest, if any, becomes a free block. Needs one record and one address
  // (BlockTable::prepare).
  SplitChange take(PoolClass pool, BlockTable& blocks, const Found& found, Units size) noexcept;
  // Frees a live or pending block and merges it with its free neighbours. Its record may be
  // destroyed.
  SplitChange give_back(PoolClass pool, BlockTable& blocks, BlockTable::Entry entry) noexcept;
  // Gives a block and its free neighbours the newest of their wait numbers. Call it before
  // give_back(), unless a wait has proved the block unused.
  static void number(BlockTable& blocks, BlockIndex block, Waits::Number freed) noexcept;

  // Bounds the bytes of segments that are one free block. At first there is no bound.
  void cap_idle(std::uint64_t bytes) { idle_cap_ = bytes / to_bytes(1); }
  [[nodiscard]] std::uint64_t idle_cap() const { return to_bytes(1) * idle_cap_; }
  [[nodiscard]] bool is_over_cap() const { return idle_units_ > idle_cap_; }

  // Returns the bytes of segments that are one free block.
  [[nodiscard]] std::uint64_t idle_bytes() const { return to_bytes(1) * idle_units_; }

 private:
  static constexpr std::uint64_t kUncapped = ~std::uint64_t{0} / kUnit;

  [[nodiscard]] std::uint32_t searches(PoolClass pool) const {
    return searches_[static_cast<std::size_t>(pool)];
  }
  void cut_off(PoolClass pool, BlockTable& blocks, BlockIndex block, Units size,
               Units rest) noexcept;

  FreeBlocks free_;
  std::uint64_t idle_units_ = 0;
  std::uint64_t idle_cap_ = kUncapped;
  std::array<std::uint32_t, 2> searches_{};  // by PoolClass
  std::uint16_t place_;
};

}  // namespace vramscope
