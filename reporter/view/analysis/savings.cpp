// Estimates what calls that were not made would have taken.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/savings.h"

#include <algorithm>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

// Calls that went to the driver say nothing where they are too few, for themselves or beside what
// the cache served: they are the first ones of the process then.
bool are_enough(const Duration& driver, const Duration& cached) {
  constexpr std::uint64_t kEnoughCalls = 10;
  constexpr std::uint64_t kServedByEach = 1000;
  return driver.count >= kEnoughCalls && cached.count <= driver.count * kServedByEach;
}

struct Range {
  double least = 0;
  double most = 0;
};

// Of the calls' times: the beginning of the bucket in which the first quarter ends, the end of that
// in which the third does. Without a histogram the mean.
Range usual_ns(const Duration& calls) {
  std::uint64_t counted = 0;
  for (const std::uint64_t count : calls.histogram) counted += count;
  if (counted == 0) {
    const double mean = static_cast<double>(calls.total_ns) / static_cast<double>(calls.count);
    return {mean, mean};
  }
  Range range{.least = -1};
  std::uint64_t so_far = 0;
  for (std::size_t bucket = 0; bucket < calls.histogram.size(); ++bucket) {
    so_far += calls.histogram[bucket];
    const double begin = static_cast<double>(std::uint64_t{1} << bucket);
    if (range.least < 0 && so_far * 4 >= counted) range.least = begin;
    if (so_far * 4 < counted * 3) continue;
    range.most = begin * 2;
    break;
  }
  range.least = std::max(range.least, static_cast<double>(calls.min_ns));
  range.most = std::min(range.most, static_cast<double>(calls.max_ns));
  return range;
}

// What `count` calls would have taken, less what the cache took for them.
void add(Range& sum, const Range& each, const Duration& cached, std::uint64_t also_ns) {
  const auto count = static_cast<double>(cached.count);
  const auto took = static_cast<double>(cached.total_ns + also_ns);
  sum.least += each.least * count - took;
  sum.most += each.most * count - took;
}

std::uint64_t positive_ns(double ns) {
  return ns > 0 && ns < 1e18 ? static_cast<std::uint64_t>(ns) : 0;
}

// An estimate beyond the run's length is not told: this is a convention, as several threads could
// have waited in the driver at one time. Each process lasted no longer than all of them together.
std::uint64_t run_ns(const Report& report) {
  return report.timeline.duration_ns * std::max<std::uint64_t>(report.processes.size(), 1);
}

}  // namespace

Savings savings(const Timing& timing, std::uint64_t run_ns) {
  Savings result;
  result.hits = timing.alloc_hit.count;
  result.allocations = timing.alloc_hit.count + timing.alloc_driver.count;
  result.kept_frees = timing.free_hit.count;
  result.driver_calls = result.hits + result.kept_frees;
  result.estimated = are_enough(timing.alloc_driver, timing.alloc_hit);
  if (!result.estimated) return result;
  Range saved;
  add(saved, usual_ns(timing.alloc_driver), timing.alloc_hit, 0);
  if (are_enough(timing.free_driver, timing.free_hit)) {
    add(saved, usual_ns(timing.free_driver), timing.free_hit, timing.sync.total_ns);
  }
  result.least_ns = positive_ns(saved.least);
  result.most_ns = positive_ns(saved.most);
  if (run_ns == 0) return result;
  result.is_cut = result.least_ns > run_ns;
  result.least_ns = std::min(result.least_ns, run_ns);
  result.most_ns = std::min(result.most_ns, run_ns);
  return result;
}

Savings device_savings(const Report& report, const DeviceReport& device) {
  return savings(device.timing, run_ns(report));
}

// Counts and sums only: a longest call of the rest is not known.
Duration pinned_driver_time(const Report& report) {
  const Duration& all = report.host.timing.alloc_driver;
  Duration rest{.count = all.count, .total_ns = all.total_ns};
  for (const FunctionFacts& function : report.functions) {
    if (!function.name.starts_with("cuMemHostRegister")) continue;
    const FunctionTotals& totals = function.totals;
    rest.count -= std::min(rest.count, totals.calls - std::min(totals.calls, totals.failures));
    rest.total_ns -= std::min(rest.total_ns, totals.time.total_ns);
  }
  return rest;
}

Savings pinned_savings(const Report& report) {
  Timing timing = report.host.timing;
  timing.alloc_driver = pinned_driver_time(report);
  timing.free_driver = {};
  return savings(timing, run_ns(report));
}

}  // namespace vramscope
