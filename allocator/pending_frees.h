// Frees that nothing has proved complete yet, and the blocks of any store that they are of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/books/accounts.h"
#include "allocator/dedicated/dedicated_blocks.h"
#include "allocator/ground/place.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/waits.h"

namespace vramscope {

// Where a block of ours is kept.
enum class Store : std::uint8_t { pools, dedicated, pinned };

// A block of a pool or a dedicated one, as far as its reuse is concerned. Good until the lock is
// released.
class AnyBlock {
 public:
  AnyBlock() = default;  // none
  AnyBlock(BlockTable& table, BlockIndex index)
      : table_(index == kNoBlock ? nullptr : &table), index_(index) {}
  explicit AnyBlock(DedicatedBlock* block) : dedicated_(block) {}
  explicit operator bool() const { return table_ != nullptr || dedicated_ != nullptr; }

  [[nodiscard]] BlockIndex index() const { return index_; }               // of a pool's
  [[nodiscard]] DedicatedBlock* dedicated() const { return dedicated_; }  // nullptr: a pool's
  [[nodiscard]] bool is_in(const BlockTable& table) const { return table_ == &table; }
  [[nodiscard]] bool is_live() const;
  [[nodiscard]] bool is_exported() const;
  [[nodiscard]] CountedBlock counted() const;
  [[nodiscard]] std::uint64_t serial() const;   // of a live one
  [[nodiscard]] Waits::Number freed() const;    // the wait after which it was freed last
  [[nodiscard]] std::uint32_t pending() const;  // number of its free, while that is pending

 private:
  friend class PendingFrees;
  [[nodiscard]] bool is_of(Place where) const;
  [[nodiscard]] AnyBlock next() const;
  void set_next(const AnyBlock& next) const;

  BlockTable* table_ = nullptr;
  BlockIndex index_ = kNoBlock;
  DedicatedBlock* dedicated_ = nullptr;
};

// Frees that nothing has proved complete yet, in their order: of one place's pools, or of all
// dedicated blocks of a kind. Threads: one at a time.
class PendingFrees {
 public:
  // A live block becomes a pending one.
  void add(const AnyBlock& block);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool has(Place where) const;
  // The first of a place that is no newer than the free numbered `newest`, or is the one numbered
  // `own`, taken out; none: there is no such.
  [[nodiscard]] AnyBlock take(Place where, std::uint32_t newest, std::uint32_t own);
  [[nodiscard]] std::uint32_t newest() const { return newest_; }
  // The first, and the one after another.
  [[nodiscard]] AnyBlock first() const { return first_; }
  [[nodiscard]] static AnyBlock after(const AnyBlock& block) { return block.next(); }

 private:
  AnyBlock first_;
  AnyBlock last_;
  std::uint32_t newest_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace vramscope
