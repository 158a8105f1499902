// Statistics are counters in PyTorch's vocabulary; each is named once, in a visit() function.
// Rules: test/golden and PyTorch's memory_stats (version 2.6) decide what each one counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// One quantity. current = what is there now; allocated and freed only grow until reset_accumulated.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;
  std::int64_t freed = 0;

  using Change = void (Stat::*)(std::int64_t amount);  // one of the next three
  constexpr void increase(std::int64_t amount) {
    current += amount;
    allocated += amount;
    if (current > peak) peak = current;
  }
  constexpr void decrease(std::int64_t amount) {
    current -= amount;
    freed += amount;
  }
  // What was decreased is there after all. There may have been a reset in between.
  constexpr void take_back(std::int64_t amount) {
    current += amount;
    freed -= amount < freed ? amount : freed;
    if (current > peak) peak = current;
  }
  constexpr void reset_peak() { peak = current; }
  constexpr void reset_accumulated() { allocated = freed = 0; }

  // Calls f("current", value) and so on, in the order of the report.
  template <class Self, class F>
  static constexpr void visit(Self& self, F&& f) {
    f("current", self.current);
    f("peak", self.peak);
    f("allocated", self.allocated);
    f("freed", self.freed);
  }
};

// One quantity for all memory and for each size class.
struct PooledStat {
  Stat all, small_pool, large_pool;

  template <class Self, class F>
  static constexpr void visit(Self& self, F&& f) {
    f("all", self.all);
    f("small_pool", self.small_pool);
    f("large_pool", self.large_pool);
  }
};

// torch.cuda.memory_stats of one device. `allocated.*`, the documented alias of `allocation.*`, is
// added where the keys are written.
struct DeviceStatistics {
  PooledStat allocation, segment, active, inactive_split;
  PooledStat allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes;
  Stat oversize_allocations, oversize_segments;
  std::int64_t num_alloc_retries = 0;
  std::int64_t num_ooms = 0;
  std::int64_t num_sync_all_streams = 0;
  std::int64_t num_device_alloc = 0;
  std::int64_t num_device_free = 0;
  std::int64_t num_oom_rejections = 0;  // newer than 2.6: named once there was one
  std::int64_t max_split_size = -1;     // bytes, as set at start-up; -1: unlimited

  // f.pooled(name, PooledStat&), f.single(name, Stat&), f.count(name, int64&), f.setting(name,
  // int64&): the four shapes differ in what a reset does to them.
  template <class Self, class F>
  static constexpr void visit(Self& self, F&& f) {
    f.pooled("allocation", self.allocation);
    f.pooled("segment", self.segment);
    f.pooled("active", self.active);
    f.pooled("inactive_split", self.inactive_split);
    f.pooled("allocated_bytes", self.allocated_bytes);
    f.pooled("reserved_bytes", self.reserved_bytes);
    f.pooled("active_bytes", self.active_bytes);
    f.pooled("inactive_split_bytes", self.inactive_split_bytes);
    f.pooled("requested_bytes", self.requested_bytes);
    f.single("oversize_allocations", self.oversize_allocations);
    f.single("oversize_segments", self.oversize_segments);
    f.count("num_alloc_retries", self.num_alloc_retries);
    f.count("num_ooms", self.num_ooms);
    f.count("num_sync_all_streams", self.num_sync_all_streams);
    f.count("num_device_alloc", self.num_device_alloc);
    f.count("num_device_free", self.num_device_free);
    if (self.num_oom_rejections != 0) f.count("num_oom_rejections", self.num_oom_rejections);
    f.setting("max_split_size", self.max_split_size);
  }

  void reset_peaks();
  void reset_accumulated();
};

// torch.cuda.host_memory_stats (meanings of PyTorch 2.8) for pinned and registered host memory:
// `allocated` falls when the program frees, `active` when the block is reusable, `segment` and
// `reserved` are what is pinned. Durations are kept by the recorder, beside these.
struct HostStatistics {
  Stat allocated, allocated_bytes, segment, reserved_bytes, active_requests, active_bytes;
  std::int64_t num_host_alloc = 0;  // cudaHostAlloc and cudaHostRegister
  std::int64_t num_host_free = 0;   // cudaFreeHost and cudaHostUnregister

  template <class Self, class F>
  static constexpr void visit(Self& self, F&& f) {
    f.single("allocated", self.allocated);
    f.single("allocated_bytes", self.allocated_bytes);
    f.single("segment", self.segment);
    f.single("reserved_bytes", self.reserved_bytes);
    f.single("active_requests", self.active_requests);
    f.single("active_bytes", self.active_bytes);
    f.count("num_host_alloc", self.num_host_alloc);
    f.count("num_host_free", self.num_host_free);
  }

  void reset_peaks();
  void reset_accumulated();
};

}  // namespace vramscope
