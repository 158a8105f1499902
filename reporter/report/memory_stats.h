// memory_stats() makes the flat dictionaries of torch.cuda.memory_stats and
// torch.cuda.host_memory_stats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocator/base/statistics.h"

namespace vramscope {

struct DeviceReport;
struct HostReport;

// The value of a counter that another tool's file does not have. Of all other counters only
// max_split_size can be negative.
inline constexpr std::int64_t kNotKnown = -1;

// Returns a counter as a number of bytes or calls; 0 if it is not known.
[[nodiscard]] constexpr std::uint64_t positive(std::int64_t counter) {
  return counter > 0 ? static_cast<std::uint64_t>(counter) : 0;
}

using FlatStats = std::vector<std::pair<std::string, std::int64_t>>;  // sorted by key

// Returns every known key of one device, with `allocated.*`, PyTorch's documented alias of
// `allocation.*`. Empty before first use.
[[nodiscard]] FlatStats memory_stats(const DeviceReport& device);

// Returns every key of the host, with `host_alloc_time.*` and `host_free_time.*` in whole
// microseconds, as PyTorch counts. Empty before first use.
[[nodiscard]] FlatStats memory_stats(const HostReport& host);

// A visitor of statistics that passes each counter to f(key, value).
template <class F>
struct CounterKeys {
  F& f;

  void single(const std::string& name, auto& stat) const {
    Stat::visit(stat, [&](const char* part, auto& value) { f(name + "." + part, value); });
  }
  void pooled(const std::string& name, auto& stat) const {
    PooledStat::visit(stat, [&](const char* pool, auto& part) { single(name + "." + pool, part); });
  }
  void count(const std::string& name, auto& value) const { f(name, value); }
  void setting(const std::string& name, auto& value) const { f(name, value); }
};

// Calls f(key, std::int64_t&) for each counter of DeviceStatistics or HostStatistics.
template <class Statistics, class F>
void each_counter(Statistics& statistics, F&& f) {
  std::remove_const_t<Statistics>::visit(statistics, CounterKeys<std::remove_reference_t<F>>{f});
}

}  // namespace vramscope
