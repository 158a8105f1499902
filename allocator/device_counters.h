// The counters of one device in the form that is cheap to change; DeviceStatistics is how they are
// read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/pool.h"
#include "allocator/size_policy.h"
#include "allocator/statistics.h"

namespace vramscope {

// What changes with every allocation and free. Each lane is kept as its distance below its peak
// (so one sign test finds a new peak in any lane) and, per pool, as what was added since the last
// reset. The rest is derived: current = peak - below, and freed = added - change of current.
// Threads: one at a time.
class DeviceCounters {
 public:
  void count_allocation(PoolClass pool, std::uint64_t bytes, std::uint64_t requested,
                        SplitChange split);
  // The program gives the block up: allocation and allocated_bytes drop.
  void count_release(PoolClass pool, std::uint64_t bytes);
  // The block is reusable: active, active_bytes, requested_bytes drop, split blocks change.
  void count_completion(PoolClass pool, std::uint64_t bytes, std::uint64_t requested,
                        SplitChange split);
  // Both at once, the usual free.
  void count_free(PoolClass pool, std::uint64_t bytes, std::uint64_t requested, SplitChange split);

  void count_segment(PoolClass pool, std::uint64_t bytes);
  void count_segment_release(PoolClass pool, std::uint64_t bytes);

  // The counters that change seldom, kept as they are read.
  DeviceStatistics& rare() { return rare_; }

  void reset_peaks();
  void reset_accumulated();
  [[nodiscard]] DeviceStatistics read() const;

 private:
  enum Lane { allocation, allocated_bytes, active, active_bytes, requested, split, split_bytes };
  static constexpr std::size_t kLanes = 8;  // one to spare: whole vectors
  using Lanes = std::array<std::int64_t, kLanes>;

  struct Level {
    Lanes below{};  // peak - current; negative only inside change()
    Lanes peak{};
    Lanes added{};  // pools only: `all` is their sum
    Lanes base{};   // current at the last reset_accumulated
  };

  void change(PoolClass pool, const Lanes& delta);
  static void raise(Level& level);
  static void rebase(Level& level);
  [[nodiscard]] PooledStat read(Lane lane) const;
  [[nodiscard]] static Stat read(const Level& level, Lane lane);

  Level pools_[2];  // by PoolClass
  Level all_;
  DeviceStatistics rare_;
};

}  // namespace vramscope
