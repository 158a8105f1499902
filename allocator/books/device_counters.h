// Device counters keep the statistics of one device in a form that is cheap to change; they are
// read as DeviceStatistics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/ground/size_policy.h"
#include "allocator/ground/statistics.h"

namespace vramscope {

// What an operation did to the free blocks of split segments: one net change, which is what
// inactive_split and inactive_split_bytes count.
struct SplitChange {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

// What changes with every allocation and free. Each lane is kept as its distance below its peak
// (so a few sign tests find a new peak in any lane) and, per pool, as what was added since the last
// reset. The rest is derived: current = peak - below, and freed = added - change of current. What
// holds for both pools together has a peak only: how far below it they are is what each is below
// its own peak and a difference of peaks, which changes with them alone.
// The numbers of blocks and of split blocks share a lane, blocks in its upper half: what is kept is
// 2^32 * blocks + split blocks, of which either may be negative. So an operation changes four
// lanes. active and active_bytes are allocation and allocated_bytes until a block is released
// before it is reusable; from then on they have lanes of their own. Threads: one at a time.
class DeviceCounters {
 public:
  // An allocation makes one more split block with its bytes, or takes from those that there are.
  void count_allocation(PoolClass pool, std::uint64_t bytes, std::uint64_t requested,
                        SplitChange split);
  // The program gives the block up: allocation and allocated_bytes drop.
  void count_release(PoolClass pool, std::uint64_t bytes);
  // The block is reusable: active, active_bytes, requested_bytes drop; and when it has merged, the
  // split blocks change.
  void count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t requested);
  void count_split(PoolClass pool, SplitChange split);
  // Both at once, the usual free, in two steps: the block, and its end with that of split blocks.
  void count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t requested);
  void count_merge(PoolClass pool, SplitChange split);

  // A segment is there (Stat::increase), there no longer (decrease), or there still (take_back).
  // Whether somebody asked for it or gave it back (num_device_alloc, num_device_free) is another
  // matter: the segments of a lost context just vanish.
  void change_segments(PoolClass pool, std::uint64_t bytes, Stat::Change how);
  // The same of pages, which make a reservation longer or shorter but are no segments.
  void change_reserved(PoolClass pool, std::uint64_t bytes, Stat::Change how);

  // The counters that change seldom, kept as they are read.
  [[nodiscard]] DeviceStatistics& rare() { return rare_; }

  void reset_peaks();
  void reset_accumulated();
  [[nodiscard]] DeviceStatistics read() const;

 private:
  // Two lanes that change together, in one register.
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

  // One block and so many split ones, in their lane.
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
  Lanes apart_{};  // the peak of both together - the sum of their peaks
  bool active_apart_ = false;
  DeviceStatistics rare_;
};

}  // namespace vramscope
