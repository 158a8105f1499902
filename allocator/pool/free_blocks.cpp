// Free blocks: bins, their best four, and their trees.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/free_blocks.h"

#include <cassert>

namespace vramscope {
inline FreeBlocks::Slot FreeBlocks::slot_of(PoolClass pool, Units size, Address address) {
  const Key where = address / kUnit;
  if (pool == PoolClass::small) return {size - 1, ~where};
  if (size < kLeastLarge) size = kLeastLarge;  // serves no request, so its order does not matter
  const int log = 31 ^ __builtin_clz(size);    // one instruction; size > 0
  const int shift = log - kSubBits;
  const Units sub = (size >> shift) & ((1U << kSubBits) - 1);
  const Key within = size & ((1U << shift) - 1);
  return {kSmallBins + (static_cast<std::uint32_t>(log - kFirstLog) << kSubBits) + sub,
          ~(within << kAddressBits | where)};
}

inline Units FreeBlocks::size_of(PoolClass pool, std::uint32_t bin, Key key) {
  if (pool == PoolClass::small) return static_cast<Units>(bin + 1);
  // The bits of a size are 1, those of its bin, and those of its key.
  const std::size_t above = bin - kSmallBins;
  const std::size_t shift = (above >> kSubBits) + (kFirstLog - kSubBits);
  const auto leading = static_cast<Units>((above & ((1U << kSubBits) - 1)) | (1U << kSubBits));
  return (leading << shift) + static_cast<Units>(~key >> kAddressBits);
}

std::uint32_t FreeBlocks::rank(const Bin& bin, Key key) {
  std::uint32_t better = 0;
  for (std::uint32_t i = 0; i < kBest; ++i) better += bin.keys[i] > key;
  return better;
}

inline FreeBlocks::Found FreeBlocks::found_at(PoolClass pool, std::uint32_t bin,
                                              std::uint32_t position) const {
  const Bin& b = bins_[bin];
  return {b.blocks[position], size_of(pool, bin, b.keys[position]), {bin, b.keys[position]}};
}

FreeBlocks::Found FreeBlocks::find(PoolClass pool, Units size) const noexcept {
  const Slot least = slot_of(pool, size, 0);
  std::uint32_t at = least.bin;
  if (pool == PoolClass::large && (used_[at / 64] >> (at % 64) & 1)) {
    const std::uint32_t position = rank(bins_[at], least.key);
    if (position < bins_[at].count) return found_at(pool, at, position);
    if (bins_[at].root != kNoBlock) {
      const Found found = find_in_tree(pool, least);
      if (found.block != kNoBlock) return found;
    }
    ++at;  // the request's own bin has only smaller blocks
  }
  at = next_used(pool, at);
  return at == kBins ? Found{} : found_at(pool, at, 0);
}

FreeBlocks::Found FreeBlocks::find_from(PoolClass pool, Units size,
                                        Address address) const noexcept {
  if (pool == PoolClass::small && size > kSmallBins) return {};
  const Slot least = slot_of(pool, size, address);
  std::uint32_t at = least.bin;
  if (used_[at / 64] >> (at % 64) & 1) {
    const std::uint32_t position = rank(bins_[at], least.key);
    if (position < bins_[at].count) return found_at(pool, at, position);
    if (bins_[at].root != kNoBlock) {
      const Found found = find_in_tree(pool, least);
      if (found.block != kNoBlock) return found;
    }
  }
  if (pool == PoolClass::small && at + 1 == kSmallBins) return {};
  at = next_used(pool, at + 1);
  return at == kBins ? Found{} : found_at(pool, at, 0);
}

FreeBlocks::Found FreeBlocks::find_in_tree(PoolClass pool, Slot limit) const {
  const KeyTrees::Entry found = trees_.find(bins_[limit.bin].root, limit.key);
  if (found.block == kNoBlock) return {};
  return {found.block, size_of(pool, limit.bin, found.key), {limit.bin, found.key}};
}

inline std::uint32_t FreeBlocks::next_used(PoolClass pool, std::uint32_t from) const {
  std::uint32_t word = from / 64;
  std::uint64_t bins = used_[word] & (~std::uint64_t{0} << (from % 64));
  if (!bins) {
    const std::uint64_t later =
        summary_[static_cast<std::size_t>(pool)] & (~std::uint64_t{1} << (word % 64));
    if (!later) return kBins;
    const std::uint32_t first = pool == PoolClass::small ? 0 : kSmallBins / 64;
    word = first + static_cast<std::uint32_t>(__builtin_ctzll(later));
    bins = used_[word];
  }
  return word * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bins));
}

// Both have no branches or calls: they move or keep four entries in a few cycles.
void FreeBlocks::put(Bin& bin, std::uint32_t at, Key key, BlockIndex block) {
  for (std::uint32_t i = kBest - 1; i > 0; --i) {
    bin.keys[i] = i > at ? bin.keys[i - 1] : bin.keys[i];
    bin.blocks[i] = i > at ? bin.blocks[i - 1] : bin.blocks[i];
  }
  bin.keys[at] = key;
  bin.blocks[at] = block;
}

void FreeBlocks::cut(Bin& bin, std::uint32_t at) {
  for (std::uint32_t i = 0; i < kBest - 1; ++i) {
    bin.keys[i] = i >= at ? bin.keys[i + 1] : bin.keys[i];
    bin.blocks[i] = i >= at ? bin.blocks[i + 1] : bin.blocks[i];
  }
  bin.keys[kBest - 1] = 0;
  --bin.count;
}

void FreeBlocks::insert(PoolClass pool, BlockIndex block, Units size, Address address) noexcept {
  const Slot slot = slot_of(pool, size, address);
  Bin& bin = bins_[slot.bin];
  const std::uint64_t used = used_[slot.bin / 64];
  const std::uint64_t bit = std::uint64_t{1} << (slot.bin % 64);
  // Not bin.count > 0: the bin's line is rarely in the first-level cache, and the branch hard to
  // predict.
  if ((used & bit) != 0) return push(bin, slot.key, block);
  used_[slot.bin / 64] = used | bit;
  summary_[static_cast<std::size_t>(pool)] |= std::uint64_t{1} << (slot.bin / 64 % 64);
  bin.keys[0] = slot.key;
  bin.blocks[0] = block;
  bin.count = 1;
}

void FreeBlocks::push(Bin& bin, Key key, BlockIndex block) {
  const std::uint32_t at = rank(bin, key);
  if (at == bin.count && (at == kBest || bin.root != kNoBlock)) {
    return trees_.insert(bin.root, key, block);
  }
  if (bin.count == kBest) {
    trees_.insert(bin.root, bin.keys[kBest - 1], bin.blocks[kBest - 1]);
  } else {
    ++bin.count;
  }
  put(bin, at, key, block);
}

void FreeBlocks::erase(PoolClass pool, Units size, Address address) noexcept {
  erase(pool, slot_of(pool, size, address));
}

void FreeBlocks::erase(PoolClass pool, const Slot& slot) noexcept {
  const auto [at, key] = slot;
  Bin& bin = bins_[at];
  if (bin.count + bin.root != 1) return pull(bin, key);
  bin.count = 0;
  const std::uint64_t left = used_[at / 64] & ~(std::uint64_t{1} << (at % 64));
  used_[at / 64] = left;
  if (left == 0) summary_[static_cast<std::size_t>(pool)] &= ~(std::uint64_t{1} << (at / 64 % 64));
}

void FreeBlocks::pull(Bin& bin, Key key) {
  const std::uint32_t position = rank(bin, key);
  if (position == bin.count) return trees_.erase(bin.root, key);
  assert(bin.keys[position] == key);
  cut(bin, position);
  if (bin.count == 0) refill(bin);
}

// Fills three of four, so that the next insertion of a good block finds room.
void FreeBlocks::refill(Bin& bin) {
  while (bin.root != KeyTrees::kEmpty && bin.count < kBest - 1) {
    const KeyTrees::Entry next = trees_.take_greatest(bin.root);
    bin.keys[bin.count] = next.key;
    bin.blocks[bin.count++] = next.block;
  }
}

}  // namespace vramscope
