// Device counters keep the statistics of one device in a form that is cheap to change. They are
// read as DeviceStatistics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/size_policy.h"
#include "allocator/base/statistics.h"

namespace vramscope {

// The net change by one operation to the free blocks of split segments, which inactive_split and
// inactive_split_bytes count.
struct SplitChange {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

// The counters that change with every allocation and free. Each lane holds its distance below its
// peak, so a few sign tests find a new peak in any lane, and, per pool, what was added since the
// last reset. The rest is derived: current = peak - below, and freed = added - change of current.
// The sum of both pools has only a peak: its distance below is the sum of the pools' distances and
// a difference of peaks, which changes only with the peaks.
// The numbers of blocks and of split blocks share a lane: it holds 2^32 * blocks + split blocks,
// either of which may be negative. So an operation changes four lanes. active and active_bytes
// equal allocation and allocated_bytes until a block is released before it is reusable; from then
// on they have lanes of their own. Threads: one at a time.
class DeviceCounters {
 public:
  // Counts an allocation and its change of the split blocks.
  void count_allocation(PoolClass pool, std::uint64_t bytes, std::uint64_t requested,
                        SplitChange split);
  // Counts a free by the program: allocation and allocated_bytes drop.
  void count_release(PoolClass pool, std::uint64_t bytes);
  // Counts that a block is reusable: active, active_bytes and requested_bytes drop. After its merge
  // count_split() changes the split blocks.
  void count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t requested);
  void count_split(PoolClass pool, SplitChange split);
  // Count release and completion together, as in the fast free: first the block, then its merge.
  void count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t requested);
  void count_merge(PoolClass pool, SplitChange split);

  // Counts a segment that came (Stat::increase), went (decrease), or stayed after all (take_back).
  // num_device_alloc and num_device_free, which count driver calls, are separate: the segments of a
  // lost context vanish without a call.
  void change_segments(PoolClass pool, std::uint64_t bytes, Stat::Change how);
  // The same for pages of a reservation, which are no segments.
  void change_reserved(PoolClass pool, std::uint64_t bytes, Stat::Change how);

  // The counters that change seldom, in the form in which they are read.
  [[nodiscard]] DeviceStatistics& rare() { return rare_; }

  void reset_peaks();
  void reset_accumulated();
  [[nodiscard]] DeviceStatistics read() const;

 private:
  // Two lanes that change together and share a register.
  using Pair = std::int64_t __attribute__((vector_size(16)));
  struct Lanes {
    Pair bytes{};   // allocated_bytes, requested_bytes
    Pair parts{};   // inactive_split_bytes; allocation and inactive_split
    Pair active{};  // active, active_bytes

    void operator+=(const Lanes& other);
    void operator-=(const Lanes& other);
  };
  struct Added {
    Pair bytes{};
    Pair splits{};  // inactive_split, inactive_split_bytes
    Pair active{};
    std::int64_t allocation = 0;
  };
  struct Level {    // of a pool
    Lanes below{};  // peak - current; negative only until raise()
    Lanes peak{};
    Added added{};
    Lanes base{};  // current at the last reset_accumulated
  };
  struct Values {  // lanes, one by one
    std::int64_t allocation, allocated_bytes, active, active_bytes, requested_bytes, inactive_split,
        inactive_split_bytes;
  };

  // One block in the lane that blocks and split blocks share.
  static constexpr std::int64_t kBlock = std::int64_t{1} << 32;
  [[nodiscard]] static std::int64_t splits_in(std::int64_t lane) {
    return static_cast<std::int32_t>(lane);
  }
  [[nodiscard]] static std::int64_t blocks_in(std::int64_t lane) {
    return (lane - splits_in(lane)) / kBlock;
  }

  void change_parts(Level& own, std::int64_t blocks, SplitChange split);
  [[gnu::noinline]] void change_active(PoolClass pool, Pair active);
  void separate_active();
  [[nodiscard]] static bool is_raised(Pair bytes, Pair parts);
  [[nodiscard]] Lanes all_below() const;
  [[gnu::noinline]] void raise(Level& own);
  [[nodiscard]] static Lanes negatives(const Lanes& lanes);
  static void rebase(Level& level);
  [[nodiscard]] Values values_of(const Lanes& lanes) const;
  [[nodiscard]] Values values_of(const Added& added) const;
  [[nodiscard]] PooledStat read(std::int64_t Values::*value) const;
  [[nodiscard]] Stat read(const Level& level, std::int64_t Values::*value) const;

  Level pools_[2];  // by PoolClass
  Lanes all_peak_{};
  Lanes apart_{};  // peak of the sum minus sum of the peaks
  bool active_apart_ = false;
  DeviceStatistics rare_;
};

}  // namespace vramscope
