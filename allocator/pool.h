// A pool: the segments and blocks of one place and size class. Best fit, split, merge.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/block_table.h"
#include "allocator/free_blocks.h"

namespace vramscope {

// What an operation did to the free blocks of split segments: one net change, which is what
// inactive_split and inactive_split_bytes count.
struct SplitChange {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

// Mechanism only: it never asks whether, it does. Its blocks live in the shared table, but whether
// an address can be found there is the caller's business.
// Threads: one at a time.
class Pool {
 public:
  Pool(BlockTable& blocks, PoolClass kind, std::uint16_t place)
      : blocks_(blocks), free_(blocks), kind_(kind), place_(place) {}

  // Before the first segment. False: out of memory.
  [[nodiscard]] bool prepare() noexcept { return free_.prepare(); }

  // The smallest free block of at least `size`, lowest address among equals; kNoBlock: none.
  [[nodiscard]] BlockIndex find(Units size) const noexcept { return free_.find(size); }

  // Ages of free blocks are counted in searches: garbage collection asks for them.
  void count_search() noexcept { ++searches_; }
  [[nodiscard]] std::uint32_t age(BlockIndex block) const { return searches_ - blocks_[block].tag; }

  // A new segment: one free block, which nothing has used since the wait numbered `freed`. Needs
  // one record (BlockTable::prepare).
  BlockIndex add_segment(Address address, Units size, Waits::Number freed = 0) noexcept;
  // A segment that is one free block leaves the pool; its record stays, for restore() or
  // BlockTable::destroy().
  void set_aside(BlockIndex block) noexcept;
  // It is back, as if it had never left.
  void restore(BlockIndex block) noexcept;

  enum class Cut : bool { no, yes };
  // Makes a free block live. With Cut::yes its lower `size` units; the rest becomes a free block,
  // which needs one record.
  SplitChange take(BlockIndex block, Units size, Cut cut) noexcept;
  // Makes a live or pending block free and merges it with its free neighbours: together they carry
  // the newest of their numbers. Its record may go.
  SplitChange give_back(BlockIndex block, Waits::Number freed) noexcept;

  // Bytes of segments that are one free block.
  [[nodiscard]] std::uint64_t idle_bytes() const { return idle_bytes_; }
  [[nodiscard]] PoolClass kind() const { return kind_; }

 private:
  void add_free(BlockIndex block) noexcept;
  void list_free(BlockIndex block) noexcept;
  void remove_free(BlockIndex block) noexcept;
  void cut_off(BlockIndex block, Units size) noexcept;

  BlockTable& blocks_;
  FreeBlocks free_;
  std::uint64_t idle_bytes_ = 0;
  std::uint32_t searches_ = 0;
  PoolClass kind_;
  std::uint16_t place_;
};

}  // namespace vramscope
