// Flattens statistics into sorted dictionaries.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/memory_stats.h"

#include "reporter/report/report.h"

#include <algorithm>

namespace vramscope {

namespace {

void add_time(FlatStats& flat, const std::string& name, const Duration& time) {
  constexpr std::uint64_t kNsPerUs = 1000;
  const auto add = [&](const char* part, std::uint64_t value) {
    flat.emplace_back(name + "." + part, static_cast<std::int64_t>(value));
  };
  add("total", time.total_ns / kNsPerUs);
  add("max", time.max_ns / kNsPerUs);
  add("min", time.min_ns / kNsPerUs);
  add("count", time.count);
  add("avg", time.count == 0 ? 0 : time.total_ns / time.count / kNsPerUs);
}

}  // namespace

FlatStats memory_stats(const DeviceReport& device) {
  FlatStats flat;
  if (!device.used) return flat;
  each_counter(device.statistics, [&](const std::string& key, std::int64_t value) {
    constexpr std::string_view kRealName = "allocation.";
    if (value == kNotKnown && key != "max_split_size") return;
    flat.emplace_back(key, value);
    if (key.starts_with(kRealName)) {
      flat.emplace_back("allocated." + key.substr(kRealName.size()), value);
    }
  });
  std::sort(flat.begin(), flat.end());
  return flat;
}

FlatStats memory_stats(const HostReport& host) {
  FlatStats flat;
  if (!host.used) return flat;
  each_counter(host.statistics,
               [&](const std::string& key, std::int64_t value) { flat.emplace_back(key, value); });
  add_time(flat, "host_alloc_time", host.timing.alloc_driver);
  add_time(flat, "host_free_time", host.timing.free_driver);
  std::sort(flat.begin(), flat.end());
  return flat;
}

}  // namespace vramscope
