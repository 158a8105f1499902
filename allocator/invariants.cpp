// SPDX-License-Identifier: Apache-2.0
#include "allocator/invariants.h"

#include <map>
#include <string>

#include "allocator/base/size_policy.h"
#include "allocator/books/recount.h"
#include "allocator/memory_copy.h"

namespace vramscope {
namespace {

// Returns the name of the first counter that differs, or nullptr.
const char* difference(const LevelRecount& recount, const DeviceStatistics& statistics,
                       Stat PooledStat::*level) {
  const char* wrong = nullptr;
  recount.each(statistics, [&](const char* name, const PooledStat& stat, std::int64_t value) {
    if (wrong == nullptr && (stat.*level).current != value) wrong = name;
  });
  return wrong;
}

std::string check_tiling(const Snapshot& snapshot, const SegmentSnapshot& segment) {
  const std::string name = "segment at " + std::to_string(segment.address);
  Address expected = segment.address;
  bool was_free = false;
  for (std::uint32_t i = 0; i < segment.block_count; ++i) {
    const BlockSnapshot& block = snapshot.blocks[segment.first_block + i];
    if (block.address != expected) return name + ": its blocks do not tile it";
    const bool is_free = block.state == BlockState::inactive;
    if (is_free && was_free) return name + ": two free neighbours";
    was_free = is_free;
    expected += block.size;
  }
  if (expected != segment.address + segment.total_size) return name + ": its blocks do not fill it";
  return {};
}

std::string check_statistics(const Snapshot& snapshot) {
  std::map<std::uint16_t, DeviceRecount> recounts;
  for (const SegmentSnapshot& segment : snapshot.segments) {
    if (segment.place.kind != Kind::device) continue;
    recounts[segment.place.device].add(segment, snapshot);
  }
  for (const DeviceSnapshot& device : snapshot.devices) {
    const DeviceRecount& recount = recounts[device.device];
    const char* name = difference(recount.all, device.statistics, &PooledStat::all);
    if (!name) name = difference(recount.small, device.statistics, &PooledStat::small_pool);
    if (!name) name = difference(recount.large, device.statistics, &PooledStat::large_pool);
    if (name) return std::string(name) + " differs from a recount";
  }
  return {};
}

std::string check_host(const Snapshot& snapshot) {
  LevelRecount recount;
  for (const SegmentSnapshot& segment : snapshot.segments) {
    if (is_host(segment.place.kind)) recount.add(segment, snapshot);
  }
  bool is_equal = true;
  recount.each_of_host(snapshot.host, [&](const char*, const Stat& stat, std::int64_t value) {
    is_equal &= stat.current == value;
  });
  return is_equal ? "" : "host statistics differ from a recount";
}

// Checks requested bytes by tag and by kind.
std::string check_ledger(const Snapshot& snapshot) {
  std::map<std::pair<Kind, std::uint16_t>, std::uint64_t> kinds;
  std::map<Tag, std::uint64_t> tags;
  for (const SegmentSnapshot& segment : snapshot.segments) {
    const Kind kind = segment.place.kind;
    kinds[{kind, has_device(kind) ? segment.place.device : std::uint16_t{0}}] +=
        segment.requested_size;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const BlockSnapshot& block = snapshot.blocks[segment.first_block + i];
      if (block.state != BlockState::inactive) tags[block.tag] += block.requested_size;
    }
  }
  for (const KindTotals& totals : snapshot.kinds) {
    if (totals.current_bytes != kinds[{totals.kind, totals.device}]) {
      return "a kind's bytes differ from a recount";
    }
  }
  for (Tag tag = 0; tag < snapshot.tags.size(); ++tag) {
    if (snapshot.tags[tag].live_bytes != tags[tag]) {
      return "bytes of tag " + std::to_string(tag) + " differ from a recount";
    }
  }
  return {};
}

// Checks that each block that is not free can be found by its address.
template <class Segments>
std::string check_addresses(const Segments& segments, const BlockTable& blocks) {
  std::size_t reachable = 0;
  for (const auto& [address, segment] : segments) {
    for (BlockIndex i = segment.first; i != kNoBlock; i = blocks[i].next) {
      const Block& block = blocks[i];
      if (block.is_unbacked()) continue;
      if (!block.is_free() && !block.is_aside() && !block.is_mapped())
        return "a live block is not mapped";
      if (!block.is_mapped()) continue;
      ++reachable;
      if (blocks.find(block.address()) != i) return "a block cannot be found by its address";
    }
  }
  return reachable == blocks.address_count() ? "" : "addresses are mapped that no block has";
}

template <class Pinned>
std::string check_pinned(const Pinned& memory) {
  std::uint64_t reserved = 0, held = 0;
  for (const auto& [address, segment] : memory.segments()) {
    reserved += segment.bytes;
    for (BlockIndex i = segment.first; i != kNoBlock; i = memory.blocks()[i].next) {
      const Block& block = memory.blocks()[i];
      if (block.size % to_units(kHostPage) != 0) return "a pinned block is not whole pages";
      if (!block.is_free()) held += to_bytes(block.size);
    }
  }
  const bool is_equal = memory.reserved() == reserved && memory.held() == held;
  if (!is_equal) return "pinned bytes differ from a recount";
  return check_addresses(memory.segments(), memory.blocks());
}

}  // namespace

// Checks the whole pages in free blocks of reservations, and that each free block can be found.
std::string CachingAllocator::Invariants::check_reservations(const State& state) {
  std::map<std::uint16_t, std::uint64_t> idle;
  for (const auto& [address, segment] : state.segments) {
    if (segment.page == 0) continue;
    const ExpandableBlocks& sets = *state.places[segment.slot]->expandable;
    std::uint64_t bytes = 0;
    for (BlockIndex i = segment.first; i != kNoBlock; i = state.blocks[i].next) {
      const Block& b = state.blocks[i];
      bytes += to_bytes(b.size);
      if (!b.is_expandable() || b.pool() != segment.pool) return "a block of a reservation is not";
      if (b.is_unbacked() && (b.where & Block::kHeld) == 0 &&
          sets.find_unbacked(segment.pool, b.address()) != i) {
        return "an unbacked block cannot be found";
      }
      if (!b.is_free()) continue;
      idle[segment.slot] += Expansion::pages_in(state, b).bytes();
      if (b.size >= kSmallRequest / kUnit && sets.find(segment.pool, b.size, b.address()) != i) {
        return "a free block of a reservation cannot be found";
      }
    }
    if (bytes != segment.bytes) return "blocks do not fill their reservation";
  }
  for (const auto& place : state.places) {
    if (place && place->expandable && place->expandable->idle_bytes != idle[place->slot]) {
      return "bytes of idle pages differ from a recount";
    }
  }
  return {};
}

std::size_t CachingAllocator::Invariants::count_of_one_block(const State& state) {
  return state.dedicated.of(Kind::pinned).all().size() +
         state.dedicated.of(Kind::device).all().size() + state.directs.size();
}

std::string CachingAllocator::Invariants::check(const State& state) {
  const Snapshot now = MemoryCopy::at_once(state);
  if (std::string wrong = check_reservations(state); !wrong.empty()) return wrong;
  for (const SegmentSnapshot& segment : now.segments) {
    if (std::string wrong = check_tiling(now, segment); !wrong.empty()) return wrong;
  }
  if (std::string wrong = check_addresses(state.segments, state.blocks); !wrong.empty()) {
    return wrong;
  }
  if (std::string wrong = check_pinned(state.pinned); !wrong.empty()) return wrong;
  const std::size_t of_one_block = count_of_one_block(state);
  const std::size_t unseen = state.reclaim.records_aside() + state.expansion.hidden_records(state);
  const std::size_t records = state.blocks.block_count() + state.pinned.blocks().block_count();
  if (now.blocks.size() - of_one_block + unseen != records) {
    return "records are lost";
  }
  std::map<std::uint16_t, std::uint64_t> idle_dedicated;
  for (const auto& [address, block] : state.dedicated.of(Kind::device).all()) {
    if (block.state == BlockState::inactive) idle_dedicated[block.where.device] += block.bytes;
  }
  for (std::uint16_t i = 0; i < kMaxDevices; ++i) {
    if (state.dedicated.of(Kind::device).idle_bytes(i) != idle_dedicated[i]) {
      return "bytes of idle dedicated segments differ from a recount";
    }
  }
  std::map<std::uint16_t, std::uint64_t> direct;
  for (const SegmentSnapshot& segment : now.segments) {
    if (segment.is_direct && takes_device_memory(segment.place.kind))
      direct[segment.place.device] += segment.total_size;
  }
  for (std::uint16_t i = 0; i < kMaxDevices; ++i) {
    if (state.accounts.capacities().use(i).direct != direct[i])
      return "direct bytes of a device differ from a recount";
  }
  if (std::string wrong = check_statistics(now); !wrong.empty()) return wrong;
  if (std::string wrong = check_host(now); !wrong.empty()) return wrong;
  return check_ledger(now);
}

}  // namespace vramscope
