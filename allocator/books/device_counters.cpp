// Changes and reads the lanes of counters.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/device_counters.h"

#include <algorithm>

namespace vramscope {
namespace {

std::int64_t to_signed(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

Stat& of_pool(PooledStat& stat, PoolClass pool) {
  return pool == PoolClass::small ? stat.small_pool : stat.large_pool;
}

}  // namespace

void DeviceCounters::Lanes::operator+=(const Lanes& other) {
  bytes += other.bytes;
  parts += other.parts;
  active += other.active;
}

void DeviceCounters::Lanes::operator-=(const Lanes& other) {
  bytes -= other.bytes;
  parts -= other.parts;
  active -= other.active;
}

// Whether any lane is below zero. A negative lower half borrows one from the upper half.
inline bool DeviceCounters::is_raised(Pair bytes, Pair parts) {
#ifdef __aarch64__
  const auto lower_half = static_cast<std::int32_t>(parts[1]);
  return (bytes[0] | bytes[1] | parts[0] | parts[1] | lower_half) < 0;
#else
  using Doubles = __attribute__((vector_size(16))) double;
  using Floats = __attribute__((vector_size(16))) float;
  constexpr int kSigns = 0b1110;  // without the lower half of inactive_split_bytes
  return (__builtin_ia32_movmskpd(reinterpret_cast<Doubles>(bytes)) |
          (__builtin_ia32_movmskps(reinterpret_cast<Floats>(parts)) & kSigns)) != 0;
#endif
}

inline DeviceCounters::Lanes DeviceCounters::all_below() const {
  Lanes sum = apart_;
  sum += pools_[0].below;
  sum += pools_[1].below;
  return sum;
}

// Each event is one net change of a lane. Growth counts as added; the rest is derived when read. A
// lane that only drops cannot raise a peak.
inline void DeviceCounters::change_parts(Level& own, std::int64_t blocks, SplitChange split) {
  const Pair splits{split.count, split.bytes};
  own.added.splits += splits & ~(splits >> 63);
  own.below.parts -= Pair{split.bytes, blocks * kBlock + split.count};
  const Pair all = apart_.parts + pools_[0].below.parts + pools_[1].below.parts;
  if (is_raised(Pair{}, own.below.parts | all)) [[unlikely]]
    raise(own);
}

void DeviceCounters::count_merge(PoolClass pool, SplitChange split) {
  change_parts(pools_[static_cast<std::size_t>(pool)], -1, split);
}

void DeviceCounters::change_active(PoolClass pool, Pair active) {
  Level& own = pools_[static_cast<std::size_t>(pool)];
  own.below.active -= active;
  own.added.active += active & (active > 0);
  raise(own);
}

// Until now the active lanes equalled the blocks' lanes.
void DeviceCounters::separate_active() {
  if (active_apart_) return;
  const auto separate = [](Lanes& lanes) {
    lanes.active = Pair{blocks_in(lanes.parts[1]), lanes.bytes[0]};
  };
  for (Level& level : pools_) {
    for (Lanes* lanes : {&level.below, &level.peak, &level.base}) separate(*lanes);
    level.added.active = Pair{level.added.allocation, level.added.bytes[0]};
  }
  separate(all_peak_);
  separate(apart_);
  active_apart_ = true;
}

// Returns the negative parts of the lanes.
DeviceCounters::Lanes DeviceCounters::negatives(const Lanes& lanes) {
  const std::int64_t splits = std::min(splits_in(lanes.parts[1]), std::int64_t{0});
  const std::int64_t blocks = std::min(blocks_in(lanes.parts[1]), std::int64_t{0});
  return {.bytes = lanes.bytes & (lanes.bytes < 0),
          .parts = Pair{std::min<std::int64_t>(lanes.parts[0], 0), blocks * kBlock + splits},
          .active = lanes.active & (lanes.active < 0)};
}

void DeviceCounters::raise(Level& own) {
  const Lanes excess = negatives(own.below);
  own.peak -= excess;
  own.below -= excess;
  apart_ += excess;
  const Lanes excess_of_all = negatives(all_below());
  all_peak_ -= excess_of_all;
  apart_ -= excess_of_all;
}

void DeviceCounters::count_allocation(PoolClass pool, std::uint64_t allocated, std::uint64_t asked,
                                      SplitChange split) {
  const Pair bytes{to_signed(allocated), to_signed(asked)};
  Level& own = pools_[static_cast<std::size_t>(pool)];
  own.added.bytes += bytes;
  ++own.added.allocation;
  if (split.count > 0) own.added.splits += Pair{split.count, split.bytes};  // else they only shrink
  own.below.bytes -= bytes;
  own.below.parts -= Pair{split.bytes, kBlock + split.count};
  const Pair all_bytes = apart_.bytes + pools_[0].below.bytes + pools_[1].below.bytes;
  const Pair all_parts = apart_.parts + pools_[0].below.parts + pools_[1].below.parts;
  if (is_raised(own.below.bytes | all_bytes, own.below.parts | all_parts)) [[unlikely]]
    raise(own);
  if (active_apart_) [[unlikely]]
    change_active(pool, Pair{1, to_signed(allocated)});
}

void DeviceCounters::count_release(PoolClass pool, std::uint64_t bytes) {
  separate_active();
  Level& own = pools_[static_cast<std::size_t>(pool)];
  own.below.bytes += Pair{to_signed(bytes), 0};
  own.below.parts += Pair{0, kBlock};
}

void DeviceCounters::count_split(PoolClass pool, SplitChange split) {
  change_parts(pools_[static_cast<std::size_t>(pool)], 0, split);
}

void DeviceCounters::count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t asked) {
  pools_[static_cast<std::size_t>(pool)].below.bytes += Pair{0, to_signed(asked)};
  change_active(pool, Pair{-1, -to_signed(bytes)});
}

void DeviceCounters::count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t asked) {
  pools_[static_cast<std::size_t>(pool)].below.bytes += Pair{to_signed(bytes), to_signed(asked)};
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
  all_peak_ -= all_below();
  apart_ = {};
  for (Level& level : pools_) {
    level.peak -= level.below;
    level.below = {};
  }
  rare_.reset_peaks();
}

void DeviceCounters::rebase(Level& level) {
  level.base = level.peak;
  level.base -= level.below;
  level.added = {};
}

void DeviceCounters::reset_accumulated() {
  rebase(pools_[0]);
  rebase(pools_[1]);
  rare_.reset_accumulated();
}

DeviceCounters::Values DeviceCounters::values_of(const Lanes& lanes) const {
  const std::int64_t blocks = blocks_in(lanes.parts[1]);
  return {.allocation = blocks,
          .allocated_bytes = lanes.bytes[0],
          .active = active_apart_ ? lanes.active[0] : blocks,
          .active_bytes = active_apart_ ? lanes.active[1] : lanes.bytes[0],
          .requested_bytes = lanes.bytes[1],
          .inactive_split = splits_in(lanes.parts[1]),
          .inactive_split_bytes = lanes.parts[0]};
}

DeviceCounters::Values DeviceCounters::values_of(const Added& added) const {
  return {.allocation = added.allocation,
          .allocated_bytes = added.bytes[0],
          .active = active_apart_ ? added.active[0] : added.allocation,
          .active_bytes = active_apart_ ? added.active[1] : added.bytes[0],
          .requested_bytes = added.bytes[1],
          .inactive_split = added.splits[0],
          .inactive_split_bytes = added.splits[1]};
}

Stat DeviceCounters::read(const Level& level, std::int64_t Values::*value) const {
  Stat stat;
  stat.peak = values_of(level.peak).*value;
  stat.current = stat.peak - values_of(level.below).*value;
  stat.allocated = values_of(level.added).*value;
  stat.freed = stat.allocated - (stat.current - values_of(level.base).*value);
  return stat;
}

PooledStat DeviceCounters::read(std::int64_t Values::*value) const {
  PooledStat stat;
  stat.small_pool = read(pools_[static_cast<std::size_t>(PoolClass::small)], value);
  stat.large_pool = read(pools_[static_cast<std::size_t>(PoolClass::large)], value);
  stat.all.peak = values_of(all_peak_).*value;
  stat.all.current = stat.all.peak - values_of(all_below()).*value;
  stat.all.allocated = stat.small_pool.allocated + stat.large_pool.allocated;
  stat.all.freed = stat.small_pool.freed + stat.large_pool.freed;
  return stat;
}

DeviceStatistics DeviceCounters::read() const {
  DeviceStatistics out = rare_;
  out.allocation = read(&Values::allocation);
  out.allocated_bytes = read(&Values::allocated_bytes);
  out.active = read(&Values::active);
  out.active_bytes = read(&Values::active_bytes);
  out.requested_bytes = read(&Values::requested_bytes);
  out.inactive_split = read(&Values::inactive_split);
  out.inactive_split_bytes = read(&Values::inactive_split_bytes);
  return out;
}

}  // namespace vramscope
