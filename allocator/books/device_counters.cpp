// Lanes of counters and how they are read.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/device_counters.h"

namespace vramscope {
namespace {

std::int64_t to_signed(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

Stat& of_pool(PooledStat& stat, PoolClass pool) {
  return pool == PoolClass::small ? stat.small_pool : stat.large_pool;
}

}  // namespace

// Does any lane lie below zero?
inline bool DeviceCounters::is_raised(Pair lanes) {
  return __builtin_ia32_movmskpd(reinterpret_cast<__attribute__((vector_size(16))) double>(lanes));
}

// Each event is one net change of a lane: growth counts as added, the rest follows when read. What
// only drops cannot raise a peak.
inline void DeviceCounters::drop(Level& own, Pair blocks, Pair requested) {
  own.below.blocks += blocks;
  own.below.requested += requested;
}

void DeviceCounters::count_splits(PoolClass pool, SplitChange split) {
  const Pair splits{split.count, split.bytes};
  Level& own = pools_[static_cast<std::size_t>(pool)];
  own.below.splits -= splits;
  own.added.splits += splits & ~(splits >> 63);
  if (is_raised(own.below.splits | all_below(&Lanes::splits))) [[unlikely]]
    raise(own);
}

void DeviceCounters::change_active(PoolClass pool, Pair active) {
  Level& own = pools_[static_cast<std::size_t>(pool)];
  own.below.active -= active;
  own.added.active += active & (active > 0);
  raise(own);
}

// Until now every value of the active lanes was that of the blocks' lanes.
void DeviceCounters::separate_active() {
  if (active_apart_) return;
  active_apart_ = true;
  for (Level& level : pools_) {
    for (Lanes* lanes : {&level.below, &level.peak, &level.added, &level.base}) {
      lanes->active = lanes->blocks;
    }
  }
  all_peak_.active = all_peak_.blocks;
  apart_.active = apart_.blocks;
}

void DeviceCounters::raise(Level& own) {
  for (Pair Lanes::*pair : kPairs) {
    const Pair excess = own.below.*pair & (own.below.*pair < 0);
    own.peak.*pair -= excess;
    own.below.*pair -= excess;
    apart_.*pair += excess;
    const Pair below = all_below(pair);
    const Pair excess_of_all = below & (below < 0);
    all_peak_.*pair -= excess_of_all;
    apart_.*pair -= excess_of_all;
  }
}

void DeviceCounters::count_allocation(PoolClass pool, std::uint64_t bytes, std::uint64_t asked,
                                      SplitChange split) {
  const Pair blocks{1, to_signed(bytes)};
  const Pair requested{to_signed(asked), 0};
  const Pair splits{split.count, split.bytes};
  Level& own = pools_[static_cast<std::size_t>(pool)];
  own.added.blocks += blocks;
  own.added.requested += requested;
  if (split.count > 0) own.added.splits += splits;  // else they only shrink
  own.below.blocks -= blocks;
  own.below.requested -= requested;
  own.below.splits -= splits;
  if (is_raised(own.below.blocks | own.below.requested | own.below.splits |
                all_below(&Lanes::blocks) | all_below(&Lanes::requested) |
                all_below(&Lanes::splits))) [[unlikely]]
    raise(own);
  if (active_apart_) [[unlikely]]
    change_active(pool, blocks);
}

void DeviceCounters::count_release(PoolClass pool, std::uint64_t bytes) {
  separate_active();
  drop(pools_[static_cast<std::size_t>(pool)], Pair{1, to_signed(bytes)}, Pair{});
}

void DeviceCounters::count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t asked,
                                      SplitChange split) {
  drop(pools_[static_cast<std::size_t>(pool)], Pair{}, Pair{to_signed(asked), 0});
  count_splits(pool, split);
  change_active(pool, Pair{-1, -to_signed(bytes)});
}

void DeviceCounters::count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t asked) {
  drop(pools_[static_cast<std::size_t>(pool)], Pair{1, to_signed(bytes)},
       Pair{to_signed(asked), 0});
  if (active_apart_) [[unlikely]]
    change_active(pool, Pair{-1, -to_signed(bytes)});
}

void DeviceCounters::change_segments(PoolClass pool, std::uint64_t bytes, Stat::Change how) {
  (rare_.segment.all.*how)(1);
  (of_pool(rare_.segment, pool).*how)(1);
  change_reserved(pool, bytes, how);
}

void DeviceCounters::change_reserved(PoolClass pool, std::uint64_t bytes, Stat::Change how) {
  (rare_.reserved_bytes.all.*how)(to_signed(bytes));
  (of_pool(rare_.reserved_bytes, pool).*how)(to_signed(bytes));
}

void DeviceCounters::reset_peaks() {
  for (Pair Lanes::*pair : kPairs) {
    all_peak_.*pair -= all_below(pair);
    apart_.*pair = Pair{};
    for (Level& level : pools_) {
      level.peak.*pair -= level.below.*pair;
      level.below.*pair = Pair{};
    }
  }
  rare_.reset_peaks();
}

void DeviceCounters::rebase(Level& level) {
  for (Pair Lanes::*pair : kPairs) {
    level.base.*pair = level.peak.*pair - level.below.*pair;
    level.added.*pair = Pair{};
  }
}

void DeviceCounters::reset_accumulated() {
  rebase(pools_[0]);
  rebase(pools_[1]);
  rare_.reset_accumulated();
}

Stat DeviceCounters::read(const Level& level, Pair Lanes::*pair, int lane) {
  Stat stat;
  stat.peak = (level.peak.*pair)[lane];
  stat.current = stat.peak - (level.below.*pair)[lane];
  stat.allocated = (level.added.*pair)[lane];
  stat.freed = stat.allocated - (stat.current - (level.base.*pair)[lane]);
  return stat;
}

PooledStat DeviceCounters::read(Pair Lanes::*pair, int lane) const {
  PooledStat stat;
  stat.small_pool = read(pools_[static_cast<std::size_t>(PoolClass::small)], pair, lane);
  stat.large_pool = read(pools_[static_cast<std::size_t>(PoolClass::large)], pair, lane);
  stat.all.peak = (all_peak_.*pair)[lane];
  stat.all.current = stat.all.peak - all_below(pair)[lane];
  stat.all.allocated = stat.small_pool.allocated + stat.large_pool.allocated;
  stat.all.freed = stat.small_pool.freed + stat.large_pool.freed;
  return stat;
}

DeviceStatistics DeviceCounters::read() const {
  DeviceStatistics out = rare_;
  Pair Lanes::*const active = active_apart_ ? &Lanes::active : &Lanes::blocks;
  out.allocation = read(&Lanes::blocks, 0);
  out.allocated_bytes = read(&Lanes::blocks, 1);
  out.active = read(active, 0);
  out.active_bytes = read(active, 1);
  out.requested_bytes = read(&Lanes::requested, 0);
  out.inactive_split = read(&Lanes::splits, 0);
  out.inactive_split_bytes = read(&Lanes::splits, 1);
  return out;
}

}  // namespace vramscope
