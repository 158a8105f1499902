// Pending frees are those whose blocks may still be in use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/place.h"
#include "allocator/books/accounts.h"
#include "allocator/dedicated/dedicated_blocks.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/waits.h"

namespace vramscope {

// The store that keeps a block of ours.
enum class Store : std::uint8_t { pools, dedicated, pinned };

// A block of any store, as far as its reuse is concerned. Valid until the lock is released.
class AnyBlock {
 public:
  AnyBlock() = default;  // none
  AnyBlock(BlockTable& table, BlockIndex index)
      : table_(index == kNoBlock ? nullptr : &table), index_(index) {}
  explicit AnyBlock(DedicatedBlock* block) : dedicated_(block) {}
  explicit operator bool() const { return table_ != nullptr || dedicated_ != nullptr; }

  [[nodiscard]] BlockIndex index() const { return index_; }               // of a pool's block
  [[nodiscard]] DedicatedBlock* dedicated() const { return dedicated_; }  // nullptr: a pool's block
  [[nodiscard]] bool is_in(const BlockTable& table) const { return table_ == &table; }
  [[nodiscard]] bool is_live() const;
  [[nodiscard]] bool is_exported() const;
  [[nodiscard]] CountedBlock counted() const;
  [[nodiscard]] std::uint64_t serial() const;   // of a live block
  [[nodiscard]] Waits::Number freed() const;    // the newest wait that had begun at its last free
  [[nodiscard]] std::uint32_t pending() const;  // number of its free, while pending

 private:
  friend class PendingFrees;
  [[nodiscard]] bool is_of(Place where) const;
  [[nodiscard]] AnyBlock next() const;
  void set_next(const AnyBlock& next) const;

  BlockTable* table_ = nullptr;
  BlockIndex index_ = kNoBlock;
  DedicatedBlock* dedicated_ = nullptr;
};

// The pending frees, in order, of one place's pools or of all dedicated blocks of a kind. Threads:
// one at a time.
class PendingFrees {
 public:
  // Makes a live block pending.
  void add(const AnyBlock& block);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool has(Place where) const;
  // Takes out the first block of a place whose free is numbered up to `newest`, or is numbered
  // `own`. Returns none if there is no such block.
  [[nodiscard]] AnyBlock take(Place where, std::uint32_t newest, std::uint32_t own);
  [[nodiscard]] std::uint32_t newest() const { return newest_; }
  // The first block, and the one after `block`.
  [[nodiscard]] AnyBlock first() const { return first_; }
  [[nodiscard]] static AnyBlock after(const AnyBlock& block) { return block.next(); }

 private:
  AnyBlock first_;
  AnyBlock last_;
  std::uint32_t newest_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace vramscope
