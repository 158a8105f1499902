// Free blocks keeps the free blocks of a place by size, so that the best fit for a request is found
// at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/mapped_array.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/key_trees.h"

namespace vramscope {

// The structure is bins under a two-level bitmap: one bin for each size of the small pool, 128 for
// each power of two of the large pool. A bin holds its best four blocks (smallest, then lowest
// address) in its own cache line and the others in a key tree. So most calls touch one line, and
// the worst case (everything in one bin) is logarithmic. Small blocks are at most a small segment.
// Large blocks are at least kSmallRequest: smaller rests, which can serve no request of the large
// pool, are kept as if they had that size. The pool is an argument so that inlined code for one
// pool has no branch for the other. Threads: one at a time.
class FreeBlocks {
 public:
  // Makes room for this many blocks. Call it before any other function. Returns false if memory is
  // exhausted.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept {
    return bins_.grow_to(kBins) && trees_.prepare(kBins, blocks);
  }

  // The order of the blocks of a bin: a greater key is a better block. A key is the size within the
  // bin, then the address in units, both complemented, so that a zero entry is worse than any
  // block.
  using Key = KeyTrees::Key;
  struct Slot {
    std::uint32_t bin = 0;
    Key key = 0;
  };
  // A block and its slot, valid until the next change.
  struct Found {
    BlockIndex block = kNoBlock;
    Units size = 0;
    Slot slot;
  };
  // Returns the smallest block of at least `size` units, the lowest address among equals; kNoBlock
  // if there is none.
  [[nodiscard]] Found find(PoolClass pool, Units size) const noexcept;
  // Returns the first block from (size, address) on, in that order.
  [[nodiscard]] Found find_from(PoolClass pool, Units size, Address address) const noexcept;
  // Returns an inserted block with its slot.
  [[nodiscard]] static Found found(PoolClass pool, BlockIndex block, Units size, Address address) {
    return {block, size, slot_of(pool, size, address)};
  }
  void insert(PoolClass pool, BlockIndex block, Units size, Address address) noexcept;
  // Erase an inserted block, by the size and address that it had then.
  void erase(PoolClass pool, Units size, Address address) noexcept;
  void erase(PoolClass pool, const Slot& slot) noexcept;

  // The end of the addresses that fit into a key. Drivers give 47 bits, the hardware has 49.
  static constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 49;

 private:
  static constexpr std::uint32_t kSmallBins = kSmallSegment / kUnit;
  static constexpr int kFirstLog = 11;  // of kSmallRequest in units
  static constexpr Units kLeastLarge = Units{1} << kFirstLog;
  static constexpr int kSubBits = 7;  // 128 bins a power of two
  static constexpr std::uint32_t kBins = kSmallBins + ((32 - kFirstLog) << kSubBits);
  static constexpr int kAddressBits = 40;  // of kMaxAddress / kUnit
  static constexpr std::uint32_t kBest = 4;

  struct Bin {
    Key keys[kBest];  // descending; 0 if unused, but the first of an empty bin has no meaning
    BlockIndex blocks[kBest];
    std::uint32_t count;  // used elements of the arrays; 0 only if the bin is empty
    KeyTrees::Root root;  // the other blocks, all worse than those in the arrays
    std::uint64_t unused;
  };
  static_assert(sizeof(Bin) == 64);

  [[nodiscard]] static Slot slot_of(PoolClass pool, Units size, Address address);
  [[nodiscard]] static Units size_of(PoolClass pool, std::uint32_t bin, Key key);
  [[nodiscard]] static std::uint32_t rank(const Bin& bin, Key key);  // entries better than `key`
  [[nodiscard]] Found found_at(PoolClass pool, std::uint32_t bin, std::uint32_t position) const;
  // Returns the best block of a bin's tree that is no better than the limit.
  [[gnu::noinline]] [[nodiscard]] Found find_in_tree(PoolClass pool, Slot limit) const;
  [[nodiscard]] std::uint32_t next_used(PoolClass pool, std::uint32_t from) const;  // kBins: none
  static void put(Bin& bin, std::uint32_t at, Key key, BlockIndex block);
  static void cut(Bin& bin, std::uint32_t at);
  // The fast path inlines the case of a bin with one block, and calls these functions otherwise.
  [[gnu::noinline]] void push(Bin& bin, Key key, BlockIndex block);
  [[gnu::noinline]] void pull(Bin& bin, Key key);
  void refill(Bin& bin);

  KeyTrees trees_;
  MappedArray<Bin> bins_;
  // A bit for each bin, and for each pool a bit for each of its words. The bit after the last bin
  // is always 0.
  static_assert(kSmallBins == 64 * 64 && kBins - kSmallBins < 64 * 64);
  std::array<std::uint64_t, kBins / 64 + 1> used_{};
  std::array<std::uint64_t, 2> summary_{};  // by PoolClass
};

}  // namespace vramscope
