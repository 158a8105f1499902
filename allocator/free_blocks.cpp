// Free blocks: bins, their best four, and the treap behind them.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/free_blocks.h"

#include <bit>
#include <cassert>

namespace vramscope {
namespace {

// Mixes the bits of an index: neighbours in the slab must not be neighbours in the heap order.
constexpr std::uint32_t priority(BlockIndex block) {
  std::uint32_t x = block * 0x9E3779B1u;
  x ^= x >> 15;
  return x * 0x85EBCA77u;
}

}  // namespace

std::size_t FreeBlocks::bin_of(Units size) {
  if (size < kExactSizes) return size;
  const unsigned log = 31 - static_cast<unsigned>(std::countl_zero(size));
  const Units sub = (size >> (log - kSubBits)) & ((1u << kSubBits) - 1);
  return kExactSizes + ((log - kExactBits) << kSubBits) + sub;
}

FreeBlocks::Key FreeBlocks::key_of(Units size, Address address) {
  const Key where = address / kUnit;
  if (size < kExactSizes) return ~where;
  const unsigned log = 31 - static_cast<unsigned>(std::countl_zero(size));
  const Key within = size & ((1u << (log - kSubBits)) - 1);
  return ~(within << kAddressBits | where);
}

FreeBlocks::Key FreeBlocks::key_of(BlockIndex block) const {
  return key_of(blocks_[block].size, blocks_[block].address);
}

std::uint32_t FreeBlocks::rank(const Bin& bin, Key key) {
  std::uint32_t better = 0;
  for (std::uint32_t i = 0; i < kBest; ++i) better += bin.keys[i] > key;
  return better;
}

BlockIndex FreeBlocks::find(Units size) const noexcept {
  std::size_t at = bin_of(size);
  if (size >= kExactSizes && (used_[at / 64] >> (at % 64) & 1)) {
    const BlockIndex block = find_in(bins_[at], key_of(size, 0));
    if (block != kNoBlock) return block;
    ++at;  // the request's own bin has only smaller blocks
  }
  at = next_used(at);
  return at == kBins ? kNoBlock : bins_[at].blocks[0];
}

BlockIndex FreeBlocks::find_in(const Bin& bin, Key limit) const {
  const std::uint32_t at = rank(bin, limit);
  if (at < bin.count) return bin.blocks[at];
  BlockIndex best = kNoBlock;
  for (BlockIndex i = bin.root; i != kNoBlock;) {
    const bool fits = key_of(i) <= limit;
    if (fits) best = i;
    i = fits ? blocks_[i].left : blocks_[i].right;
  }
  return best;
}

std::size_t FreeBlocks::next_used(std::size_t from) const {
  std::size_t word = from / 64;
  if (word >= kWords) return kBins;
  const std::uint64_t here = used_[word] & (~std::uint64_t{0} << (from % 64));
  if (here) return word * 64 + static_cast<std::size_t>(std::countr_zero(here));
  if (++word >= kWords) return kBins;
  std::size_t group = word / 64;
  std::uint64_t words = summary_[group] & (~std::uint64_t{0} << (word % 64));
  while (!words && ++group < summary_.size()) words = summary_[group];
  if (!words) return kBins;
  word = group * 64 + static_cast<std::size_t>(std::countr_zero(words));
  return word * 64 + static_cast<std::size_t>(std::countr_zero(used_[word]));
}

// Both without branches or calls: four entries are moved or kept in a few cycles.
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

void FreeBlocks::insert(BlockIndex block) noexcept {
  const Block& b = blocks_[block];
  const std::size_t at = bin_of(b.size);
  const Key key = key_of(b.size, b.address);
  Bin& bin = bins_[at];
  if (bin.count > 0) return push(bin, key, block);
  used_[at / 64] |= std::uint64_t{1} << (at % 64);
  summary_[at / 4096] |= std::uint64_t{1} << (at / 64 % 64);
  bin.keys[0] = key;
  bin.blocks[0] = block;
  bin.count = 1;
}

void FreeBlocks::push(Bin& bin, Key key, BlockIndex block) {
  const std::uint32_t at = rank(bin, key);
  if (at == bin.count && (at == kBest || bin.root != kNoBlock)) {
    return tree_insert(bin.root, block);
  }
  if (bin.count == kBest) {
    tree_insert(bin.root, bin.blocks[kBest - 1]);
  } else {
    ++bin.count;
  }
  put(bin, at, key, block);
}

void FreeBlocks::erase(BlockIndex block) noexcept {
  const Block& b = blocks_[block];
  const std::size_t at = bin_of(b.size);
  Bin& bin = bins_[at];
  if (bin.count == 1 && bin.root == kNoBlock) return remove_last(at);
  const std::uint32_t position = rank(bin, key_of(b.size, b.address));
  if (position == bin.count) return tree_erase(bin.root, block);
  assert(bin.blocks[position] == block);
  cut(bin, position);
  if (bin.count == 0) refill(bin);
}

void FreeBlocks::remove_last(std::size_t at) {
  bins_[at].count = 0;
  bins_[at].keys[0] = 0;
  used_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
  if (!used_[at / 64]) summary_[at / 4096] &= ~(std::uint64_t{1} << (at / 64 % 64));
}

// Three of four: the next insertion of a good block then finds room.
void FreeBlocks::refill(Bin& bin) {
  while (bin.root != kNoBlock && bin.count < kBest - 1) {
    BlockIndex first = bin.root;
    while (blocks_[first].left != kNoBlock) first = blocks_[first].left;
    tree_erase(bin.root, first);
    bin.keys[bin.count] = key_of(first);
    bin.blocks[bin.count++] = first;
  }
}

void FreeBlocks::tree_insert(BlockIndex& root, BlockIndex block) {
  const Key key = key_of(block);
  BlockIndex* link = &root;
  while (*link != kNoBlock && priority(*link) >= priority(block)) {
    Block& b = blocks_[*link];
    link = key_of(*link) > key ? &b.right : &b.left;
  }
  BlockIndex rest = *link;  // this subtree is split around the new node
  *link = block;
  BlockIndex* better = &blocks_[block].left;
  BlockIndex* worse = &blocks_[block].right;
  while (rest != kNoBlock) {
    BlockIndex*& side = key_of(rest) > key ? better : worse;
    *side = rest;
    side = &side == &better ? &blocks_[rest].right : &blocks_[rest].left;
    rest = *side;
  }
  *better = *worse = kNoBlock;
}

void FreeBlocks::tree_erase(BlockIndex& root, BlockIndex block) {
  const Key key = key_of(block);
  BlockIndex* link = &root;
  while (*link != block) {
    assert(*link != kNoBlock);
    Block& b = blocks_[*link];
    link = key_of(*link) > key ? &b.right : &b.left;
  }
  BlockIndex low = blocks_[block].left;
  BlockIndex high = blocks_[block].right;
  while (low != kNoBlock && high != kNoBlock) {
    BlockIndex& upper = priority(low) > priority(high) ? low : high;
    *link = upper;
    link = &upper == &low ? &blocks_[low].right : &blocks_[high].left;
    upper = *link;
  }
  *link = low != kNoBlock ? low : high;
}

}  // namespace vramscope
