// The free blocks of a place are kept by size, so that the best fit for a request is found at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/ground/mapped_array.h"
#include "allocator/pool/block_table.h"
#include "allocator/pool/key_trees.h"

namespace vramscope {

// Bins under a two-level bitmap: of the small pool one for each size, of the large pool 128 for
// each power of two. A bin holds its best four blocks (smallest, then lowest address) in its own
// cache line and the others in a treap of block records. So the usual case touches one line, and
// the worst case (everything in one bin) is logarithmic. Small blocks are at most a small segment,
// large ones at least kSmallRequest: smaller rests, which can serve no request of the large pool,
// are kept as if they had that size. The pool is an argument so that code for one of them, inlined,
// has no branch in it for the other. Threads: one at a time.
class FreeBlocks {
 public:
  // Capacity for so many blocks, before anything else. False: out of memory.
  [[nodiscard]] bool prepare(std::size_t blocks) noexcept {
    return bins_.grow_to(kBins) && trees_.prepare(kBins, blocks);
  }

  // Orders the blocks of a bin: the greater key is the better block. Size within the bin, then
  // address in units, complemented, so that an entry of zero bytes is worse than any block.
  using Key = KeyTrees::Key;
  struct Slot {
    std::uint32_t bin = 0;
    Key key = 0;
  };
  // A block and where it lies here: valid until the next change.
  struct Found {
    BlockIndex block = kNoBlock;
    Units size = 0;
    Slot slot;
  };
  // The smallest block of at least `size` units, the lowest address among equals; kNoBlock: none.
  [[nodiscard]] Found find(PoolClass pool, Units size) const noexcept;
  // The same in the order of (size, address), from that point on.
  [[nodiscard]] Found find_from(PoolClass pool, Units size, Address address) const noexcept;
  // An inserted one.
  [[nodiscard]] static Found found(PoolClass pool, BlockIndex block, Units size, Address address) {
    return {block, size, slot_of(pool, size, address)};
  }
  void insert(PoolClass pool, BlockIndex block, Units size, Address address) noexcept;
  // An inserted one, with the size and address of then.
  void erase(PoolClass pool, Units size, Address address) noexcept;
  void erase(PoolClass pool, const Slot& slot) noexcept;

  // Addresses beyond this do not fit into a key; drivers give 47 bits, the hardware has 49.
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
    Key keys[kBest];  // descending; 0 where unused, but the first of an empty bin has no meaning
    BlockIndex blocks[kBest];
    std::uint32_t count;  // of the arrays; 0 only when the bin is empty
    KeyTrees::Root root;  // the others, all behind the last of the arrays
    std::uint64_t unused;
  };
  static_assert(sizeof(Bin) == 64);

  [[nodiscard]] static Slot slot_of(PoolClass pool, Units size, Address address);
  [[nodiscard]] static Units size_of(PoolClass pool, std::uint32_t bin, Key key);
  [[nodiscard]] static std::uint32_t rank(const Bin& bin, Key key);  // entries better than `key`
  [[nodiscard]] Found found_at(PoolClass pool, std::uint32_t bin, std::uint32_t position) const;
  // The best in a bin's tree that is no better than the limit.
  [[gnu::noinline]] [[nodiscard]] Found find_in_tree(PoolClass pool, Slot limit) const;
  [[nodiscard]] std::uint32_t next_used(PoolClass pool, std::uint32_t from) const;  // kBins: none
  static void put(Bin& bin, std::uint32_t at, Key key, BlockIndex block);
  static void cut(Bin& bin, std::uint32_t at);
  // The hot path inlines what happens to a bin of one block, and calls for the others.
  [[gnu::noinline]] void push(Bin& bin, Key key, BlockIndex block);
  [[gnu::noinline]] void pull(Bin& bin, Key key);
  void refill(Bin& bin);

  KeyTrees trees_;
  MappedArray<Bin> bins_;
  // A bit for each bin, and for each pool a bit for each of its words; a bin that follows the last
  // has its bit too, always 0.
  static_assert(kSmallBins == 64 * 64 && kBins - kSmallBins < 64 * 64);
  std::array<std::uint64_t, kBins / 64 + 1> used_{};
  std::array<std::uint64_t, 2> summary_{};  // by PoolClass
};

}  // namespace vramscope
