// The free blocks of one pool by size: best fit, insert, remove.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/block_table.h"
#include "allocator/mapped_array.h"

namespace vramscope {

// Bins under a two-level bitmap. Below kExactSizes units a bin holds one size; above it 128 bins
// share a power of two. A bin holds its best four blocks (smallest, then lowest address) in its
// own cache line and the others in a treap of block records. So the usual case touches one line,
// and the worst case (everything in one bin) is logarithmic.
// Threads: one at a time.
class FreeBlocks {
 public:
  explicit FreeBlocks(BlockTable& blocks) : blocks_(blocks) {}

  // Pages for the bins, once, before anything else. False: out of memory.
  [[nodiscard]] bool prepare() noexcept { return bins_.grow_to(kBins); }

  // The smallest block of at least `size` units, the lowest address among equals; kNoBlock: none.
  [[nodiscard]] BlockIndex find(Units size) const noexcept;
  void insert(BlockIndex block) noexcept;
  void erase(BlockIndex block) noexcept;  // an inserted one, with size and address unchanged

  // Addresses beyond this do not fit into a key; drivers give 47 bits, the hardware has 49.
  static constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 49;

 private:
  static constexpr Units kExactSizes = 4096;  // a small segment has 4096 units
  static constexpr unsigned kExactBits = 12;
  static constexpr unsigned kSubBits = 7;  // 128 bins a power of two
  static constexpr std::size_t kBins = kExactSizes + ((32 - kExactBits) << kSubBits);
  static constexpr unsigned kAddressBits = 40;  // of kMaxAddress / kUnit
  static constexpr std::uint32_t kBest = 4;

  // Orders the blocks of a bin: the greater key is the better block. Size within the bin, then
  // address in units, complemented, so that an entry of zero bytes is worse than any block.
  using Key = std::uint64_t;

  struct Bin {
    Key keys[kBest];  // descending; 0 where unused
    BlockIndex blocks[kBest];
    std::uint32_t count;  // of the arrays; 0 only when the bin is empty
    BlockIndex root;      // treap of the others, all behind the last of the arrays
    std::uint64_t unused;
  };
  static_assert(sizeof(Bin) == 64);

  [[nodiscard]] static std::size_t bin_of(Units size);
  [[nodiscard]] static Key key_of(Units size, Address address);
  [[nodiscard]] Key key_of(BlockIndex block) const;
  [[nodiscard]] static std::uint32_t rank(const Bin& bin, Key key);   // entries better than `key`
  [[nodiscard]] BlockIndex find_in(const Bin& bin, Key limit) const;  // best that is no better
  [[nodiscard]] std::size_t next_used(std::size_t from) const;        // kBins: none
  static void put(Bin& bin, std::uint32_t at, Key key, BlockIndex block);
  static void cut(Bin& bin, std::uint32_t at);
  void push(Bin& bin, Key key, BlockIndex block);
  void remove_last(std::size_t at);
  void refill(Bin& bin);

  // Treap: best block leftmost, heap by a number mixed from the index.
  void tree_insert(BlockIndex& root, BlockIndex block);
  void tree_erase(BlockIndex& root, BlockIndex block);

  BlockTable& blocks_;
  MappedArray<Bin> bins_;
  static constexpr std::size_t kWords = kBins / 64;
  std::array<std::uint64_t, kWords> used_{};                 // a bit for each bin
  std::array<std::uint64_t, (kWords + 63) / 64> summary_{};  // a bit for each word of used_
};

}  // namespace vramscope
