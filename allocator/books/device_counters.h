// Device counters keep the statistics of one device in a form that is cheap to change; they are
// read as DeviceStatistics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/books/statistics.h"
#include "allocator/size_policy.h"

namespace vramscope {

// What an operation did to the free blocks of split segments: one net change, which is what
// inactive_split and inactive_split_bytes count.
struct SplitChange {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

// What changes with every allocation and free. Each lane is kept as its distance below its peak
// (so one sign test finds a new peak in any lane) and, per pool, as what was added since the last
// reset. The rest is derived: current = peak - below, and freed = added - change of current. What
// holds for both pools together has a peak only: how far below it they are is what each is below
// its own peak and a difference of peaks, which changes with them alone.
// active and active_bytes are allocation and allocated_bytes until a block is released before it
// is reusable; from then on they have lanes of their own.
// Threads: one at a time.
class DeviceCounters {
 public:
  // An allocation makes one more split block with its bytes, or takes from those that there are.
  void count_allocation(PoolClass pool, std::uint64_t bytes, std::uint64_t requested,
                        SplitChange split);
  // The program gives the block up: allocation and allocated_bytes drop.
  void count_release(PoolClass pool, std::uint64_t bytes);
  // The block is reusable: active, active_bytes, requested_bytes drop, split blocks change.
  void count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t requested,
                        SplitChange split);
  // Both at once, the usual free, but for the split blocks: count_splits().
  void count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t requested);
  void count_splits(PoolClass pool, SplitChange split);

  // A segment is there (Stat::increase), there no longer (decrease), or there still (take_back).
  // Whether somebody asked for it or gave it back (num_device_alloc, num_device_free) is another
  // matter: the segments of a lost context just vanish.
  void change_segments(PoolClass pool, std::uint64_t bytes, Stat::Change how);
  // The same of pages, which make a reservation longer or shorter but are no segments.
  void change_reserved(PoolClass pool, std::uint64_t bytes, Stat::Change how);

  // The counters that change seldom, kept as they are read.
  DeviceStatistics& rare() { return rare_; }

  void reset_peaks();
  void reset_accumulated();
  [[nodiscard]] DeviceStatistics read() const;

 private:
  // Two lanes that change together, in one register.
  using Pair = std::int64_t __attribute__((vector_size(16)));
  struct Lanes {
    Pair blocks{};     // allocation, allocated_bytes
    Pair requested{};  // requested_bytes, nothing
    Pair splits{};     // inactive_split, inactive_split_bytes
    Pair active{};     // active, active_bytes
  };
  static constexpr Pair Lanes::*kPairs[] = {&Lanes::blocks, &Lanes::requested, &Lanes::splits,
                                            &Lanes::active};
  struct Level {    // of a pool
    Lanes below{};  // peak - current; negative only until raise()
    Lanes peak{};
    Lanes added{};
    Lanes base{};  // current at the last reset_accumulated
  };

  static void drop(Level& own, Pair blocks, Pair requested);
  [[gnu::noinline]] void change_active(PoolClass pool, Pair active);
  void separate_active();
  [[nodiscard]] static bool is_raised(Pair lanes);
  [[nodiscard]] Pair all_below(Pair Lanes::*pair) const {
    return pools_[0].below.*pair + pools_[1].below.*pair + apart_.*pair;
  }
  [[gnu::noinline]] void raise(Level& own);
  static void rebase(Level& level);
  [[nodiscard]] PooledStat read(Pair Lanes::*pair, int lane) const;
  [[nodiscard]] static Stat read(const Level& level, Pair Lanes::*pair, int lane);

  Level pools_[2];  // by PoolClass
  Lanes all_peak_{};
  Lanes apart_{};  // the peak of both together - the sum of their peaks
  bool active_apart_ = false;
  DeviceStatistics rare_;
};

}  // namespace vramscope
