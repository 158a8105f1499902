// Lanes of counters and how they are read.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/device_counters.h"

namespace vramscope {
namespace {

std::int64_t to_signed(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

Stat& of_pool(PooledStat& stat, PoolClass pool) {
  return pool == PoolClass::small ? stat.small_pool : stat.large_pool;
}

}  // namespace

// Each event is one net change of a lane: growth counts as added, the rest follows when read.
inline void DeviceCounters::change(PoolClass pool, const Lanes& delta) {
  Level& own = pools_[static_cast<std::size_t>(pool)];
  std::int64_t sign = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    own.below[i] -= delta[i];
    all_.below[i] -= delta[i];
    own.added[i] += delta[i] > 0 ? delta[i] : 0;
    sign |= own.below[i] | all_.below[i];
  }
  if (sign >= 0) [[likely]]
    return;
  raise(own);
  raise(all_);
}

void DeviceCounters::raise(Level& level) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (level.below[i] >= 0) continue;
    level.peak[i] -= level.below[i];
    level.below[i] = 0;
  }
}

void DeviceCounters::count_allocation(PoolClass pool, std::uint64_t bytes, std::uint64_t asked,
                                      SplitChange change_of_split) {
  const std::int64_t size = to_signed(bytes);
  change(pool, {1, size, 1, size, to_signed(asked), change_of_split.count, change_of_split.bytes});
}

void DeviceCounters::count_release(PoolClass pool, std::uint64_t bytes) {
  change(pool, {-1, -to_signed(bytes)});
}

void DeviceCounters::count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t asked,
                                      SplitChange change_of_split) {
  change(pool, {0, 0, -1, -to_signed(bytes), -to_signed(asked), change_of_split.count,
                change_of_split.bytes});
}

void DeviceCounters::count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t asked,
                                SplitChange change_of_split) {
  const std::int64_t size = to_signed(bytes);
  change(pool,
         {-1, -size, -1, -size, -to_signed(asked), change_of_split.count, change_of_split.bytes});
}

void DeviceCounters::count_segment(PoolClass pool, std::uint64_t bytes) {
  rare_.segment.all.increase(1);
  of_pool(rare_.segment, pool).increase(1);
  rare_.reserved_bytes.all.increase(to_signed(bytes));
  of_pool(rare_.reserved_bytes, pool).increase(to_signed(bytes));
  ++rare_.num_device_alloc;
}

void DeviceCounters::count_segment_release(PoolClass pool, std::uint64_t bytes) {
  rare_.segment.all.decrease(1);
  of_pool(rare_.segment, pool).decrease(1);
  rare_.reserved_bytes.all.decrease(to_signed(bytes));
  of_pool(rare_.reserved_bytes, pool).decrease(to_signed(bytes));
  ++rare_.num_device_free;
}

void DeviceCounters::reset_peaks() {
  for (Level* level : {&pools_[0], &pools_[1], &all_}) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      level->peak[i] -= level->below[i];
      level->below[i] = 0;
    }
  }
  rare_.reset_peaks();
}

void DeviceCounters::rebase(Level& level) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    level.base[i] = level.peak[i] - level.below[i];
    level.added[i] = 0;
  }
}

void DeviceCounters::reset_accumulated() {
  rebase(pools_[0]);
  rebase(pools_[1]);
  rare_.reset_accumulated();
}

Stat DeviceCounters::read(const Level& level, Lane lane) {
  Stat stat;
  stat.peak = level.peak[lane];
  stat.current = stat.peak - level.below[lane];
  stat.allocated = level.added[lane];
  stat.freed = stat.allocated - (stat.current - level.base[lane]);
  return stat;
}

PooledStat DeviceCounters::read(Lane lane) const {
  PooledStat stat;
  stat.small_pool = read(pools_[static_cast<std::size_t>(PoolClass::small)], lane);
  stat.large_pool = read(pools_[static_cast<std::size_t>(PoolClass::large)], lane);
  stat.all = read(all_, lane);
  stat.all.allocated = stat.small_pool.allocated + stat.large_pool.allocated;
  stat.all.freed = stat.small_pool.freed + stat.large_pool.freed;
  return stat;
}

DeviceStatistics DeviceCounters::read() const {
  DeviceStatistics out = rare_;
  out.allocation = read(allocation);
  out.allocated_bytes = read(allocated_bytes);
  out.active = read(active);
  out.active_bytes = read(active_bytes);
  out.requested_bytes = read(requested);
  out.inactive_split = read(split);
  out.inactive_split_bytes = read(split_bytes);
  return out;
}

}  // namespace vramscope
