// Growth of the slab; open addressing from addresses to blocks.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/block_table.h"

#include <bit>
#include <limits>

namespace vramscope {
namespace {

constexpr std::size_t kFirstBlocks = 4096;
constexpr std::size_t kMostBlocks = std::numeric_limits<BlockIndex>::max();
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: Fibonacci hashing

}  // namespace

bool BlockTable::grow() noexcept {
  if (count_ + 3 > kMostBlocks) return false;
  if (!blocks_.grow_to(count_ + 3 < kFirstBlocks ? kFirstBlocks : count_ + 3)) return false;
  return (used_ + 1) * kSpread <= map_.size() || grow_map();
}

bool BlockTable::grow_map() noexcept {
  move_some(outgrown_.size());  // seldom: the last growth is not finished
  Map wider;
  if (!wider.grow_to(map_.size() ? 2 * map_.size() : kFirstEntries)) return false;
  outgrown_.swap(map_);
  map_.swap(wider);
  unmoved_ = outgrown_.size();
  cursor_ = 0;
  if (unmoved_ == 0) return true;
  while (outgrown_[cursor_] != kNoBlock) ++cursor_;  // runs move whole: begin between two
  return true;
}

// Empties runs of the outgrown map until `entries` were looked at and a run has ended.
void BlockTable::move_some(std::size_t entries) noexcept {
  const std::size_t mask = outgrown_.size() - 1;
  bool inside_run = false;
  while (unmoved_ > 0 && (entries > 0 || inside_run)) {
    const BlockIndex i = outgrown_[cursor_];
    inside_run = i != kNoBlock;
    if (inside_run) put(map_, i);
    outgrown_[cursor_] = kNoBlock;
    cursor_ = (cursor_ + 1) & mask;
    --unmoved_;
    // All at once at the end would be 0.6 ms for a table of a million blocks.
    if (cursor_ % kDiscarded == 0 && outgrown_.size() - unmoved_ >= kDiscarded) {
      outgrown_.discard((cursor_ - kDiscarded) & mask, kDiscarded);
    }
    if (entries > 0) --entries;
  }
  if (unmoved_ == 0) outgrown_.clear();
}

std::size_t BlockTable::home(const Map& map, Address address) const {
  return (address / kUnit * kGolden) >> (64 - std::countr_zero(map.size()));
}

void BlockTable::put(Map& map, BlockIndex i) {
  const std::size_t mask = map.size() - 1;
  std::size_t at = home(map, blocks_[i].address);
  while (map[at] != kNoBlock) at = (at + 1) & mask;
  map[at] = i;
}

std::size_t BlockTable::search(const Map& map, Address address) const {
  const std::size_t mask = map.size() - 1;
  std::size_t at = home(map, address);
  while (map[at] != kNoBlock && blocks_[map[at]].address != address) at = (at + 1) & mask;
  return at;
}

// An entry behind the gap moves up unless it sits between its home and the gap already.
void BlockTable::close_gap(Map& map, std::size_t gap) {
  const std::size_t mask = map.size() - 1;
  for (std::size_t at = (gap + 1) & mask; map[at] != kNoBlock; at = (at + 1) & mask) {
    const std::size_t distance = (at - home(map, blocks_[map[at]].address)) & mask;
    if (distance < ((at - gap) & mask)) continue;
    map[gap] = map[at];
    gap = at;
  }
  map[gap] = kNoBlock;
}

void BlockTable::insert(BlockIndex i) noexcept {
  ++used_;
  put(map_, i);
  if (unmoved_ > 0) [[unlikely]]
    move_some(kMovedPerInsert);
}

BlockTable::Entry BlockTable::find_entry(Address address) const noexcept {
  if (map_.size() == 0) return {};
  const std::size_t at = search(map_, address);
  if (map_[at] != kNoBlock || unmoved_ == 0) [[likely]]
    return {map_[at], false, at};
  const std::size_t old = search(outgrown_, address);
  return {outgrown_[old], true, old};
}

void BlockTable::erase(Entry entry) noexcept {
  --used_;
  close_gap(entry.outgrown ? outgrown_ : map_, entry.at);
}

void BlockTable::erase(BlockIndex i) noexcept { erase(find_entry(blocks_[i].address)); }

BlockIndex BlockTable::find(Address address) const noexcept { return find_entry(address).block; }

}  // namespace vramscope
