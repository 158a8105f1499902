// Counters: peaks, resets, and the cheap form against the plain one.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/statistics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "allocator/books/device_counters.h"
#include "test/allocator/golden_lines.h"

namespace vramscope {
namespace {

TEST(Stat, RemembersItsPeak) {
  Stat stat;

  stat.increase(5);
  stat.decrease(3);

  EXPECT_EQ(stat.current, 2);
  EXPECT_EQ(stat.peak, 5);
  EXPECT_EQ(stat.allocated, 5);
  EXPECT_EQ(stat.freed, 3);
}

TEST(DeviceStatistics, ResettingPeaksLeavesTheTotals) {
  DeviceStatistics statistics;
  statistics.active.all.increase(5);
  statistics.active.all.decrease(3);
  statistics.num_ooms = 7;

  statistics.reset_peaks();

  EXPECT_EQ(statistics.active.all.peak, 2);
  EXPECT_EQ(statistics.active.all.allocated, 5);
  EXPECT_EQ(statistics.num_ooms, 7);
}

TEST(DeviceStatistics, ResettingAccumulatedLeavesCurrentPeakAndSettings) {
  DeviceStatistics statistics;
  statistics.oversize_segments.increase(5);
  statistics.num_ooms = 7;
  statistics.max_split_size = 99;

  statistics.reset_accumulated();

  EXPECT_EQ(statistics.oversize_segments.current, 5);
  EXPECT_EQ(statistics.oversize_segments.peak, 5);
  EXPECT_EQ(statistics.oversize_segments.allocated, 0);
  EXPECT_EQ(statistics.num_ooms, 0);
  EXPECT_EQ(statistics.max_split_size, 99);
}

TEST(HostStatistics, ResetsLikeTheDevices) {
  HostStatistics statistics;
  statistics.segment.increase(5);
  statistics.segment.decrease(5);
  statistics.num_host_alloc = 5;

  statistics.reset_peaks();
  statistics.reset_accumulated();

  EXPECT_EQ(statistics.segment.peak, 0);
  EXPECT_EQ(statistics.segment.allocated, 0);
  EXPECT_EQ(statistics.num_host_alloc, 0);
}

// The plain form: every Stat changed as PyTorch changes it.
class PlainCounters {
 public:
  void apply(PooledStat& stat, PoolClass pool, std::int64_t amount) {
    for (Stat* s : {&stat.all, pool == PoolClass::small ? &stat.small_pool : &stat.large_pool}) {
      amount >= 0 ? s->increase(amount) : s->decrease(-amount);
    }
  }
  void allocation(PoolClass pool, std::int64_t bytes, std::int64_t requested, SplitChange split) {
    apply(statistics.active, pool, 1);
    apply(statistics.active_bytes, pool, bytes);
    apply(statistics.requested_bytes, pool, requested);
    apply(statistics.allocation, pool, 1);
    apply(statistics.allocated_bytes, pool, bytes);
    splits(pool, split);
  }
  void release(PoolClass pool, std::int64_t bytes) {
    apply(statistics.allocation, pool, -1);
    apply(statistics.allocated_bytes, pool, -bytes);
  }
  void completion(PoolClass pool, std::int64_t bytes, std::int64_t requested, SplitChange split) {
    apply(statistics.active, pool, -1);
    apply(statistics.active_bytes, pool, -bytes);
    apply(statistics.requested_bytes, pool, -requested);
    splits(pool, split);
  }
  void splits(PoolClass pool, SplitChange split) {
    apply(statistics.inactive_split, pool, split.count);
    apply(statistics.inactive_split_bytes, pool, split.bytes);
  }
  DeviceStatistics statistics;
};

TEST(DeviceCounters, AgreeWithPlainCounters) {
  DeviceCounters counters;
  PlainCounters plain;
  std::mt19937_64 random(3);

  for (int i = 0; i < 20'000; ++i) {
    const PoolClass pool = random() % 2 ? PoolClass::small : PoolClass::large;
    const std::uint64_t bytes = 512 * (1 + random() % 100);
    const std::uint64_t requested = bytes - random() % 512;
    const SplitChange split{static_cast<std::int64_t>(random() % 4) - 2,
                            (static_cast<std::int64_t>(random() % 100) - 50) * 512};
    const std::int64_t rest = static_cast<std::int64_t>(random() % 50) * 512;
    const SplitChange cut = random() % 2
                                ? SplitChange{1, rest}
                                : SplitChange{-static_cast<std::int64_t>(random() % 2), -rest};
    const auto b = static_cast<std::int64_t>(bytes);
    const auto r = static_cast<std::int64_t>(requested);
    switch (random() % 10) {
      case 0:
        counters.reset_peaks();
        plain.statistics.reset_peaks();
        break;
      case 1:
        counters.reset_accumulated();
        plain.statistics.reset_accumulated();
        break;
      case 2:
        counters.count_release(pool, bytes);
        counters.count_completion(pool, bytes, requested);
        counters.count_split(pool, split);
        plain.release(pool, b);
        plain.completion(pool, b, r, split);
        break;
      case 3:
      case 4:
        counters.count_free(pool, bytes, requested);
        counters.count_merge(pool, split);
        plain.release(pool, b);
        plain.completion(pool, b, r, split);
        break;
      default:
        counters.count_allocation(pool, bytes, requested, cut);
        plain.allocation(pool, b, r, cut);
    }
    ASSERT_EQ(test::values_of(counters.read()), test::values_of(plain.statistics)) << "step " << i;
  }
}

}  // namespace
}  // namespace vramscope
