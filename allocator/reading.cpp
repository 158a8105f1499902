// SPDX-License-Identifier: Apache-2.0
#include "allocator/reading.h"

#include <iterator>
#include <memory>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/snapshot.h"
#include "allocator/memory_copy.h"

namespace vramscope {
namespace {

// Fills in everything except born_ns.
BlockSnapshot describe(const Block& b) {
  return {.address = b.address(),
          .size = to_bytes(b.size),
          .requested_size = b.requested,
          .tag = b.is_free() || b.is_aside() ? Tag{0} : b.tag,
          .state = b.is_aside() ? BlockState::inactive : b.state()};
}

// Fills in everything except the segment and its place.
void describe(const BlockTable& blocks, BlockIndex i, Found& found) {
  const Block& b = blocks[i];
  found.owned = true;
  found.live = b.is_live();
  found.dedicated = !b.is_part();
  found.block = describe(b);
  found.serial = b.is_live() ? blocks.life(i).serial() : 0;
}

BlockSnapshot describe(const DedicatedBlock& b) {
  return {.address = b.address,
          .size = b.bytes,
          .requested_size = b.requested,
          .tag = b.state == BlockState::inactive ? Tag{0} : b.tag,
          .state = b.state};
}

BlockSnapshot describe(Address address, const DirectBlock& direct) {
  return {.address = address,
          .size = direct.bytes,
          .requested_size = direct.bytes,
          .tag = direct.tag,
          .state = BlockState::active_allocated};
}

}  // namespace

bool CachingAllocator::may_own(Address address) const noexcept {
  return state_->ranges.device.contains(address) || state_->ranges.dedicated.contains(address) ||
         state_->ranges.pinned.contains(address);
}

Found CachingAllocator::find(Address address) const noexcept {
  Found found;
  const State::QuietLock section(*state_);
  static_cast<void>(Reading::find_ours(*state_, address, found) ||
                    Reading::find_direct(*state_, Space::memory, address, found));
  return found;
}

bool CachingAllocator::try_find(Address address, Found& found) const noexcept {
  if (!state_->try_lock()) return false;
  static_cast<void>(Reading::find_ours(*state_, address, found));
  state_->unlock_unsettled();
  return true;
}

bool CachingAllocator::Reading::find_in_pools(const State& state, Address address, Found& found) {
  const auto above = state.segments.upper_bound(address);
  if (above == state.segments.begin()) return false;
  const auto& [start, segment] = *std::prev(above);
  if (address - start >= segment.bytes) return false;
  BlockIndex i = state.blocks.find(address);  // the common case; else walk over the segment
  if (i == kNoBlock) {
    i = segment.first;
    while (address - state.blocks[i].address() >= to_bytes(state.blocks[i].size))
      i = state.blocks[i].next;
  }
  describe(state.blocks, i, found);
  found.in_pages = segment.page != 0;
  found.where = state.places[segment.slot]->place;
  found.segment = start;
  found.segment_bytes = segment.bytes;
  return true;
}

bool CachingAllocator::Reading::find_in_pinned(const State& state, Address address, Found& found) {
  const Pinned& own = state.pinned;
  const auto segment = own.segment_around(address);
  if (segment == own.segments().end()) return false;
  describe(own.blocks(), own.block_around(address), found);
  found.where = own.places()[segment->second.slot]->place;
  found.segment = segment->first;
  found.segment_bytes = segment->second.bytes;
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

bool CachingAllocator::Reading::find_dedicated(const State& state, Kind kind, Address address,
                                               Found& found) {
  const DedicatedBlocks& blocks = state.dedicated.of(kind);
  return describe(blocks.find_around(address), found);
}

bool CachingAllocator::Reading::find_ours(const State& state, Address address, Found& found) {
  return find_in_pools(state, address, found) ||
         find_dedicated(state, Kind::device, address, found) ||
         find_in_pinned(state, address, found) ||
         find_dedicated(state, Kind::pinned, address, found);
}

bool CachingAllocator::Reading::find_direct(const State& state, Space space, Address address,
                                            Found& found) {
  const DirectBlocks::Entry* entry = state.directs.find_around(space, address);
  if (!entry) return false;
  const auto& [start, direct] = *entry;
  found.live = true;
  found.direct = true;
  found.where = direct.where;
  found.segment = start;
  found.segment_bytes = direct.bytes;
  found.block = describe(start, direct);
  found.serial = direct.serial;
  return true;
}

std::uint64_t CachingAllocator::Reading::idle_bytes_of_pools(const State& state,
                                                             std::uint16_t device) {
  std::uint64_t bytes = 0;
  for (const auto& place : state.places) {
    if (!place || place->place.device != device) continue;
    bytes += place->pools.idle_bytes();
    if (place->expandable) bytes += place->expandable->idle_bytes;
  }
  return bytes;
}

std::uint64_t CachingAllocator::idle_bytes(std::uint16_t device) const noexcept {
  const State::QuietLock section(*state_);
  return Reading::idle_bytes_of_pools(*state_, device) +
         state_->dedicated.of(Kind::device).idle_bytes(device);
}

// A plain segment goes back whole, a reservation page by page.
std::uint64_t CachingAllocator::Reading::bytes_around(const State& state, BlockIndex pending) {
  const auto is_unused = [&](BlockIndex i) VRAMSCOPE_REQUIRES(state) {
    return i != kNoBlock && !state.blocks[i].is_live() && !state.blocks[i].is_aside();
  };
  BlockIndex first = pending;
  for (BlockIndex i = state.blocks[first].prev; is_unused(i); i = state.blocks[i].prev) {
    if (!state.blocks[i].is_free()) return 0;
    first = i;
  }
  Block around = state.blocks[first];
  std::uint64_t idle = 0;
  std::uint64_t units = 0;
  BlockIndex end = first;
  for (; is_unused(end); end = state.blocks[end].next) {
    const Block& block = state.blocks[end];
    units += block.size;
    if (block.is_expandable() && block.is_free()) idle += Expansion::pages_in(state, block).bytes();
  }
  around.size = static_cast<Units>(units);
  if (around.is_expandable()) return Expansion::pages_in(state, around).bytes() - idle;
  const bool is_whole = around.prev == kNoBlock && end == kNoBlock;
  return is_whole ? to_bytes(around.size) : 0;
}

std::uint64_t CachingAllocator::Reading::pending_bytes_of_pools(const State& state,
                                                                std::uint16_t device) {
  std::uint64_t bytes = 0;
  for (const auto& place : state.places) {
    if (!place || place->place.device != device) continue;
    for (AnyBlock one = place->pending.first(); one; one = PendingFrees::after(one)) {
      bytes += bytes_around(state, one.index());
    }
  }
  return bytes;
}

std::uint64_t CachingAllocator::recoverable_bytes(std::uint16_t device) const noexcept {
  using Pending = DedicatedBlocks::Pending;
  const bool may_wait = state_->backend.may_wait({.device = device});
  const State::QuietLock section(*state_);
  const bool completes = may_wait && !state_->reuse.holds();
  const std::uint64_t pending =
      completes ? Reading::pending_bytes_of_pools(*state_, device) : std::uint64_t{0};
  const Pending counted = completes ? Pending::free : Pending::in_use;
  return Reading::idle_bytes_of_pools(*state_, device) + pending +
         state_->dedicated.of(Kind::device).idle_granules(device, counted) * kGranularity;
}

bool CachingAllocator::read_statistics(std::uint16_t device, DeviceStatistics& out) const noexcept {
  const State::QuietLock section(*state_);
  return state_->accounts.read(device, out);
}

bool CachingAllocator::read_host_statistics(HostStatistics& out) const noexcept {
  const State::QuietLock section(*state_);
  return state_->accounts.read(out);
}

DeviceUse CachingAllocator::sample(std::uint16_t device) const noexcept VRAMSCOPE_NO_ANALYSIS {
  return state_->accounts.ledger().sample(device);
}

Snapshot CachingAllocator::snapshot(const Pace& pace) const {
  auto copy = std::make_unique<MemoryCopy>();
  try {
    while (!copy->take(*state_, pace)) {
      copy->make_room();
      if (pace.between) pace.between();
    }
  } catch (const LockLost&) {
    static_cast<void>(copy.release());  // the holder of the lock may still write to it
    throw;
  }
  return copy->describe();
}

Snapshot CachingAllocator::counters_of_lost() const VRAMSCOPE_NO_ANALYSIS {
  Snapshot out;
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    DeviceSnapshot counters{.device = device, .statistics = {}};
    if (state_->accounts.read(device, counters.statistics)) out.devices.push_back(counters);
  }
  out.host_used = state_->accounts.read(out.host);
  return out;
}

}  // namespace vramscope
