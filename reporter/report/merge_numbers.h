// add_numbers() adds the parts of reports that consist of numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"

namespace vramscope {

// Sets values that differ to the default of their type.
template <class T>
void keep_common(T& sum, const T& more) {
  if (sum != more) sum = T{};
}

inline void add_numbers(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& more) {
  sum.resize(std::max(sum.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

inline void add_numbers(Duration& sum, const Duration& more) {
  if (more.count == 0) return;
  sum.min_ns = sum.count == 0 ? more.min_ns : std::min(sum.min_ns, more.min_ns);
  sum.max_ns = std::max(sum.max_ns, more.max_ns);
  sum.count += more.count;
  sum.total_ns += more.total_ns;
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) sum.histogram[i] += more.histogram[i];
}

inline void add_numbers(Timing& sum, const Timing& more) {
  add_numbers(sum.alloc_hit, more.alloc_hit);
  add_numbers(sum.alloc_driver, more.alloc_driver);
  add_numbers(sum.free_hit, more.free_hit);
  add_numbers(sum.free_driver, more.free_driver);
  add_numbers(sum.sync, more.sync);
}

// max_split_size is a setting, -1 if it is not set: the larger value is kept.
template <class Statistics>
void add_counters(Statistics& sum, const Statistics& more) {
  std::vector<std::int64_t> numbers;
  each_counter(more,
               [&](const std::string&, const std::int64_t& value) { numbers.push_back(value); });
  auto next = numbers.begin();
  each_counter(sum, [&](const std::string& key, std::int64_t& value) {
    if (key == "max_split_size") {
      value = std::max(value, *next);
    } else {
      value = value == kNotKnown || *next == kNotKnown ? kNotKnown : value + *next;
    }
    ++next;
  });
}

// If only some have an estimate, the others' counts are used as theirs.
inline void add_numbers(SiteTotals& totals, std::optional<SiteTotals>& estimate,
                        const SiteTotals& more, const std::optional<SiteTotals>& more_estimate) {
  if (estimate || more_estimate) {
    SiteTotals sum = estimate.value_or(totals);
    sum += more_estimate.value_or(more);
    estimate = sum;
  }
  totals += more;
}

inline void add_numbers(SitePart& sum, const SitePart& more) {
  add_numbers(sum.totals, sum.estimate, more.totals, more.estimate);
}

// Adds everything except the frames and what is valid for one run only.
inline void add_numbers(Site& sum, const Site& more) {
  add_numbers(sum.totals, sum.estimate, more.totals, more.estimate);
  for (const SitePart& part : more.parts) {
    const auto same = std::find_if(sum.parts.begin(), sum.parts.end(), [&](const SitePart& p) {
      return p.kind == part.kind && p.device == part.device;
    });
    same == sum.parts.end() ? sum.parts.push_back(part) : add_numbers(*same, part);
  }
  sum.refused_count += more.refused_count;
  sum.refused_bytes = capped_sum(sum.refused_bytes, more.refused_bytes);
  sum.temporary_count += more.temporary_count;
  add_numbers(sum.lifetimes, more.lifetimes);
  add_numbers(sum.sizes, more.sizes);
  add_numbers(sum.live_by_age, more.live_by_age);
  sum.live_turns = std::max(sum.live_turns, more.live_turns);
  sum.live_span_ns = std::max(sum.live_span_ns, more.live_span_ns);
}

inline void add_numbers(DeviceFacts& sum, const DeviceFacts& more) {
  keep_common(sum.name, more.name);
  keep_common(sum.uuid, more.uuid);
  keep_common(sum.pci_bus_id, more.pci_bus_id);
  keep_common(sum.compute_capability, more.compute_capability);
  const bool both_limited = sum.limit_bytes != 0 && more.limit_bytes != 0;
  sum.limit_bytes = both_limited ? sum.limit_bytes + more.limit_bytes : 0;
  sum.limit_refusals += more.limit_refusals;
  sum.outside_bytes += more.outside_bytes;
  sum.context_bytes += more.context_bytes;
  sum.module_bytes += more.module_bytes;
  const bool are_measured = is_measured(sum.measured_by) && is_measured(more.measured_by);
  if (sum.measured_by != more.measured_by)
    sum.measured_by = are_measured ? word_of(MeasuredBy::alone) : "";
  sum.exported_bytes += more.exported_bytes;
  sum.pool_bytes += more.pool_bytes;
  sum.pool_pending_bytes += more.pool_pending_bytes;
  if (more.before_bytes) sum.before_bytes = sum.before_bytes.value_or(0) + *more.before_bytes;
  add_numbers(sum.pages.map, more.pages.map);
  add_numbers(sum.pages.access, more.pages.access);
  add_numbers(sum.pages.unmap, more.pages.unmap);
}

}  // namespace vramscope
