// Reading: what is known about an address, and everything at one instant.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "allocator/state.h"

namespace vramscope {
namespace {

// born_ns: filled in by who knows the numbers of allocations.
BlockSnapshot describe(const Block& b) {
  return {.address = b.address(),
          .size = to_bytes(b.size),
          .requested_size = b.requested,
          .tag = b.is_free() ? Tag{0} : b.tag,
          .state = b.state()};
}

BlockSnapshot describe(const DedicatedBlock& b) {
  return {.address = b.address,
          .size = b.bytes,
          .requested_size = b.requested,
          .tag = b.state == BlockState::inactive ? Tag{0} : b.tag,
          .state = b.state};
}

BlockSnapshot describe(Address address, const DirectMemory& direct) {
  return {.address = address,
          .size = direct.bytes,
          .requested_size = direct.bytes,
          .tag = direct.tag,
          .state = BlockState::active_allocated};
}

void add_block(Snapshot& snapshot, SegmentSnapshot& segment, const BlockSnapshot& block,
               std::uint64_t born_ns) {
  snapshot.blocks.push_back(block);
  snapshot.blocks.back().born_ns = born_ns;
  ++segment.block_count;
  if (block.state == BlockState::inactive) return;
  segment.active_size += block.size;
  segment.requested_size += block.requested_size;
  if (block.state == BlockState::active_allocated) segment.allocated_size += block.size;
}

bool comes_before(const SegmentSnapshot& a, const SegmentSnapshot& b) {
  return std::tie(a.place.kind, a.place.device, a.address) <
         std::tie(b.place.kind, b.place.device, b.address);
}

}  // namespace

bool CachingAllocator::may_own(Address address) const noexcept {
  return state_->device_range.contains(address) || state_->dedicated_range.contains(address) ||
         state_->pinned_range.contains(address);
}

Found CachingAllocator::find(Address address) const noexcept {
  Found found;
  MutexLock lock(state_->mutex);
  static_cast<void>(state_->find_owned(address, found) || state_->find_dedicated(address, found) ||
                    state_->find_pinned(address, found) ||
                    state_->find_direct(Space::memory, address, found));
  return found;
}

bool CachingAllocator::try_find(Address address, Found& found) const noexcept {
  if (!state_->mutex.try_lock()) return false;
  static_cast<void>(state_->find_owned(address, found) || state_->find_dedicated(address, found) ||
                    state_->find_pinned(address, found));
  state_->mutex.unlock();
  return true;
}

bool CachingAllocator::State::find_owned(Address address, Found& found) const {
  const auto above = segments.upper_bound(address);
  if (above == segments.begin()) return false;
  const auto& [start, segment] = *std::prev(above);
  if (address - start >= segment.bytes) return false;
  BlockIndex i = blocks.find(address);  // the usual question; else the segment is walked
  if (i == kNoBlock) {
    i = segment.first;
    while (address - blocks[i].address() >= to_bytes(blocks[i].size)) i = blocks[i].next;
  }
  const Block& b = blocks[i];
  found.owned = true;
  found.live = b.is_live();
  found.dedicated = !b.is_part();
  found.where = places[segment.slot]->place;
  found.segment = start;
  found.segment_bytes = segment.bytes;
  found.block = describe(b);
  found.serial = b.is_live() ? blocks.life(i).serial() : 0;
  return true;
}

namespace {

bool describe(const DedicatedBlock* block, Found& found) {
  if (!block) return false;
  found.owned = true;
  found.live = block->is_live();
  found.dedicated = true;
  found.exported = found.live && block->exported;
  found.where = block->where;
  found.segment = block->address;
  found.segment_bytes = block->bytes;
  found.block = describe(*block);
  found.serial = block->is_live() ? block->serial : 0;
  return true;
}

}  // namespace

bool CachingAllocator::State::find_dedicated(Address address, Found& found) const {
  return describe(dedicated.find_around(address), found);
}

bool CachingAllocator::State::find_pinned(Address address, Found& found) const {
  return describe(pinned.find_around(address), found);
}

bool CachingAllocator::State::find_direct(Space space, Address address, Found& found) const {
  const Directs& directs = this->directs[static_cast<std::size_t>(space)];
  const auto above = directs.upper_bound(address);
  if (above == directs.begin()) return false;
  const auto& [start, direct] = *std::prev(above);
  if (has_ranges(space) ? address - start >= direct.bytes : address != start) return false;
  found.live = true;
  found.direct = true;
  found.where = direct.where;
  found.segment = start;
  found.segment_bytes = direct.bytes;
  found.block = describe(start, direct);
  found.serial = direct.serial;
  return true;
}

std::uint64_t CachingAllocator::State::idle_bytes_of_pools(std::uint16_t device) const {
  std::uint64_t bytes = 0;
  for (const auto& place : places) {
    if (!place || place->place.device != device) continue;
    bytes += place->pools.idle_bytes();
  }
  return bytes;
}

std::uint64_t CachingAllocator::idle_bytes(std::uint16_t device) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->idle_bytes_of_pools(device) + state_->dedicated.idle_bytes(device);
}

std::uint64_t CachingAllocator::recoverable_bytes(std::uint16_t device) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->idle_bytes_of_pools(device) +
         state_->dedicated.idle_granules(device) * kGranularity;
}

bool CachingAllocator::read_statistics(std::uint16_t device, DeviceStatistics& out) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->accounts.read(device, out);
}

bool CachingAllocator::read_host_statistics(HostStatistics& out) const noexcept {
  MutexLock lock(state_->mutex);
  return state_->accounts.read(out);
}

Snapshot CachingAllocator::snapshot() const {
  MutexLock lock(state_->mutex);
  return state_->snapshot();
}

std::size_t CachingAllocator::State::direct_count() const {
  std::size_t count = 0;
  for (const Directs& adopted : directs) count += adopted.size();
  return count;
}

// Segments of every sort are kept by address; the list is sorted by place after
// that, and blocks refer to it by position, so they are written last.
Snapshot CachingAllocator::State::snapshot() const {
  Snapshot out;
  accounts.describe(out);
  const std::size_t of_one_block = direct_count() + pinned.all().size() + dedicated.all().size();
  out.segments.reserve(segments.size() + of_one_block);
  out.blocks.reserve(blocks.block_count() + of_one_block);
  for (const auto& [address, segment] : segments) {
    out.segments.push_back({.place = places[segment.slot]->place,
                            .address = address,
                            .total_size = segment.bytes,
                            .is_small = segment.pool == PoolClass::small,
                            .first_block = segment.first});
  }
  for (const auto& [address, block] : pinned.all()) {
    out.segments.push_back({.place = block.where,
                            .address = address,
                            .total_size = block.bytes,
                            .is_small = pool_class(block.bytes) == PoolClass::small});
  }
  for (const auto& [address, block] : dedicated.all()) {
    out.segments.push_back({.place = block.where,
                            .address = address,
                            .total_size = block.bytes,
                            .is_small = block.pool == PoolClass::small,
                            .is_dedicated = true,
                            .is_exported = block.exported});
  }
  for (const Directs& adopted : directs) {
    for (const auto& [address, direct] : adopted) {
      out.segments.push_back({.place = direct.where,
                              .address = address,
                              .total_size = direct.bytes,
                              .is_small = pool_class(direct.bytes) == PoolClass::small,
                              .is_direct = true});
    }
  }
  std::sort(out.segments.begin(), out.segments.end(), comes_before);
  for (SegmentSnapshot& segment : out.segments) {
    BlockIndex i = segment.first_block;
    segment.first_block = static_cast<std::uint32_t>(out.blocks.size());
    if (segment.place.kind == Kind::pinned && !segment.is_direct) {
      const DedicatedBlock& block = pinned.all().at(segment.address);
      add_block(out, segment, describe(block),
                block.is_live() ? accounts.born_ns(block.serial) : 0);
      continue;
    }
    if (segment.is_direct) {
      const Directs& adopted = directs[static_cast<std::size_t>(space_of(segment.place.kind))];
      const DirectMemory& direct = adopted.at(segment.address);
      add_block(out, segment, describe(segment.address, direct), accounts.born_ns(direct.serial));
      continue;
    }
    if (segment.is_dedicated) {
      const DedicatedBlock& block = dedicated.all().at(segment.address);
      add_block(out, segment, describe(block),
                block.is_live() ? accounts.born_ns(block.serial) : 0);
      continue;
    }
    for (; i != kNoBlock; i = blocks[i].next) {
      const Block& b = blocks[i];
      add_block(out, segment, describe(b),
                b.is_live() ? accounts.born_ns(blocks.life(i).serial()) : 0);
    }
  }
  return out;
}

}  // namespace vramscope
