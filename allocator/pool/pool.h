// The two pools of a place cut segments into blocks, and merge those that are free again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/books/device_counters.h"
#include "allocator/ground/limits.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/free_blocks.h"

namespace vramscope {

// Mechanism only: it never asks whether, it does. Its blocks live in the one table of all, given
// with each call. Those that are not free can be found there by their addresses; a free one keeps
// the entry that it had until it merges, so that who takes and frees it again never writes the map.
// The pool is an argument for the reason that free_blocks.h gives.
// Threads: one at a time.
class Pools {
 public:
  explicit Pools(std::uint16_t place) : place_(place) {}

  // Capacity for so many free blocks, before there are. False: out of memory.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept { return free_.prepare(blocks); }

  // The smallest free block of at least `size`, lowest address among equals; kNoBlock: none.
  using Found = FreeBlocks::Found;
  [[nodiscard]] Found find(PoolClass pool, Units size) const noexcept {
    return free_.find(pool, size);
  }
  // The same in the order of (size, address), from that point on.
  [[nodiscard]] Found find_from(PoolClass pool, Units size, Address address) const noexcept {
    return free_.find_from(pool, size, address);
  }
  // A free block of the pool.
  [[nodiscard]] static Found found(PoolClass pool, const BlockTable& blocks, BlockIndex block) {
    return FreeBlocks::found(pool, block, blocks[block].size, blocks[block].address());
  }

  // Ages of free blocks are counted in searches of their pool, or in those that found nothing: who
  // gives the oldest back asks for them.
  void count_search(PoolClass pool) noexcept { ++searches_[static_cast<std::size_t>(pool)]; }
  [[nodiscard]] std::uint32_t age(const Block& block) const {
    return searches(block.pool()) - block.tag;
  }

  // A new segment: one free block, which nothing has used since the wait numbered `freed`. Needs
  // one record (BlockTable::prepare).
  BlockIndex add_segment(PoolClass pool, BlockTable& blocks, Address address, Units size,
                         Waits::Number freed = 0) noexcept;
  // A segment that is one free block leaves its pool and the map; its record stays, for restore()
  // or BlockTable::destroy(), and so does the room for it.
  void set_aside(BlockTable& blocks, BlockIndex block) noexcept;
  // It is back, as if it had never left.
  void restore(const BlockTable& blocks, BlockIndex block) noexcept;

  // The lower `size` units of a free block are nobody's, and are to be made live by their state
  // once all is known of them; the rest, if any, becomes a free block. Needs one record and one
  // address (BlockTable::prepare).
  SplitChange take(PoolClass pool, BlockTable& blocks, const Found& found, Units size) noexcept;
  // Makes a live or pending block free and merges it with its free neighbours. Its record may go.
  SplitChange give_back(PoolClass pool, BlockTable& blocks, BlockTable::Entry entry) noexcept;
  // Before that, unless a wait has proved it unused: it and its free neighbours together carry the
  // newest of their numbers.
  static void number(BlockTable& blocks, BlockIndex block, Waits::Number freed) noexcept;

  // Segments that are one free block may hold so many bytes; at first there is no bound.
  void cap_idle(std::uint64_t bytes) { idle_cap_ = bytes / to_bytes(1); }
  [[nodiscard]] std::uint64_t idle_cap() const { return to_bytes(1) * idle_cap_; }
  [[nodiscard]] bool is_over_cap() const { return idle_units_ > idle_cap_; }

  // Bytes of segments that are one free block.
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
