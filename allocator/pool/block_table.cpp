// Grows the table of records, and implements the map from addresses to blocks.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/block_table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "allocator/base/fault.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostBlocks = std::numeric_limits<BlockIndex>::max();
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: Fibonacci hashing

}  // namespace

void BlockTable::keep_in_copies(BlockIndex i) noexcept {
  if (fault(Fault::change_uncopied)) return;
  copies_.each([i](Copy& copy) {
    copy.blocks.keep(i);
    copy.lives.keep(i);
  });
}

bool BlockTable::grow() noexcept {
  const std::size_t wanted = next_size();
  if (wanted > kMostBlocks || !blocks_.grow_to(wanted) || !lives_.grow_to(wanted)) return false;
  most_blocks_ = std::min(blocks_.size(), lives_.size()) - 2;
  return (used_ + 1) * kSpread <= map_.entries.size() || grow_map();
}

bool BlockTable::Map::open(std::size_t size) noexcept {
  if (!entries.grow_to(size)) return false;
  mask = entries.size() - 1;
  shift = 64 - std::countr_zero(entries.size());
  return true;
}

inline std::size_t BlockTable::Map::home(Address address) const {
  return (address / kUnit * kGolden) >> shift;
}

bool BlockTable::grow_map() noexcept {
  move_some(outgrown_.entries.size());  // rare: the last growth is unfinished
  Map wider;
  const std::size_t size = map_.entries.size();
  if (!wider.open(size ? 2 * size : kFirstEntries)) return false;
  outgrown_.entries.swap(map_.entries);
  std::swap(outgrown_.mask, map_.mask);
  std::swap(outgrown_.shift, map_.shift);
  map_.entries.swap(wider.entries);
  map_.mask = wider.mask;
  map_.shift = wider.shift;
  most_used_ = map_.entries.size() / kSpread;
  unmoved_ = outgrown_.entries.size();
  cursor_ = 0;
  if (unmoved_ == 0) return true;
  while (outgrown_[cursor_] != kNoBlock) ++cursor_;  // runs move whole, so begin between two
  return true;
}

// Empties runs of the outgrown map until `entries` were looked at and a run has ended.
void BlockTable::move_some(std::size_t entries) noexcept {
  const std::size_t mask = outgrown_.mask;
  bool inside_run = false;
  while (unmoved_ > 0 && (entries > 0 || inside_run)) {
    const BlockIndex i = outgrown_[cursor_];
    inside_run = i != kNoBlock;
    if (inside_run) put(map_, i);
    outgrown_[cursor_] = kNoBlock;
    cursor_ = (cursor_ + 1) & mask;
    --unmoved_;
    // All at once at the end would be 0.6 ms for a table of a million blocks.
    if (cursor_ % kDiscarded == 0 && outgrown_.entries.size() - unmoved_ >= kDiscarded) {
      outgrown_.entries.discard((cursor_ - kDiscarded) & mask, kDiscarded);
    }
    if (entries > 0) --entries;
  }
  if (unmoved_ == 0) outgrown_.entries.clear();
}

void BlockTable::put(Map& map, BlockIndex i) {
  std::size_t at = map.home(blocks_[i].where);
  while (map[at] != kNoBlock) at = (at + 1) & map.mask;
  map[at] = i;
}

std::size_t BlockTable::search(const Map& map, Address address) const {
  std::size_t at = map.home(address);
  while (map[at] != kNoBlock && (blocks_[map[at]].where ^ address) >= kUnit) {
    at = (at + 1) & map.mask;
  }
  return at;
}

// An entry after the gap moves up unless its home lies after the gap.
void BlockTable::close_gap(Map& map, std::size_t gap) {
  const std::size_t mask = map.mask;
  for (std::size_t at = (gap + 1) & mask; map[at] != kNoBlock; at = (at + 1) & mask) {
    const std::size_t distance = (at - map.home(blocks_[map[at]].where)) & mask;
    if (distance < ((at - gap) & mask)) continue;
    map[gap] = map[at];
    gap = at;
  }
  map[gap] = kNoBlock;
}

void BlockTable::insert(BlockIndex i) noexcept {
  ++used_;
  blocks_[i].where |= Block::kMapped;
  put(map_, i);
  if (unmoved_ > 0) [[unlikely]]
    move_some(kMovedPerInsert);
}

BlockTable::Entry BlockTable::find_entry(Address address) const noexcept {
  if (address % kUnit != 0) return {};
  const std::size_t at = search(map_, address);
  if (map_[at] != kNoBlock || unmoved_ == 0) [[likely]]
    return {map_[at], false, at};
  const std::size_t old = search(outgrown_, address);
  return {outgrown_[old], true, old};
}

void BlockTable::erase(Entry entry) noexcept {
  --used_;
  blocks_[entry.block].where &= ~Block::kMapped;
  close_gap(entry.outgrown ? outgrown_ : map_, entry.at);
}

void BlockTable::erase(BlockIndex i) noexcept { erase(find_entry(blocks_[i].address())); }

BlockIndex BlockTable::find(Address address) const noexcept {
  return map_.mask == 0 ? kNoBlock : find_entry(address).block;
}

}  // namespace vramscope
