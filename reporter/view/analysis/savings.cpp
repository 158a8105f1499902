// Estimates what calls that were not made would have taken.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/savings.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/free_calls.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// Calls that went to the driver say nothing where they are too few, for themselves or beside what
// the cache served: they are the first ones of the process then.
bool are_enough(std::uint64_t by_driver, std::uint64_t cached) {
  constexpr std::uint64_t kEnoughCalls = 10;
  constexpr std::uint64_t kServedByEach = 1000;
  return by_driver >= kEnoughCalls && cached <= by_driver * kServedByEach;
}

struct Range {
  double least = 0;
  double most = 0;
};

// Of the calls' times: the beginning of the bucket of the fastest, the end of that in which the
// third quarter ends. Without a histogram the mean.
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
    if (range.least < 0 && so_far != 0) range.least = begin;
    if (so_far * 4 < counted * 3) continue;
    range.most = begin * 2;
    break;
  }
  range.least = std::max(range.least, static_cast<double>(calls.min_ns));
  range.most = std::min(range.most, static_cast<double>(calls.max_ns));
  return range;
}

// What `count` calls would have taken, less what the cache took for them.
void add(Range& sum, const Range& each, std::uint64_t count, std::uint64_t took_ns) {
  sum.least += each.least * static_cast<double>(count) - static_cast<double>(took_ns);
  sum.most += each.most * static_cast<double>(count) - static_cast<double>(took_ns);
}

std::uint64_t positive_ns(double ns) {
  return ns > 0 && ns < 1e18 ? static_cast<std::uint64_t>(ns) : 0;
}

// Calls that have nothing to free are the shortest.
Duration without_shortest(const Duration& calls, std::uint64_t count) {
  Duration rest = calls;
  for (std::uint64_t& bucket : rest.histogram) {
    const std::uint64_t left_out = std::min(bucket, count);
    bucket -= left_out;
    count -= left_out;
  }
  return rest;
}

// Whether the cache took as long as the driver, whose longest call is its first: it loads code.
bool were_hits_as_slow(const Duration& hits, const Duration& driver) {
  if (driver.count < 2) return false;
  const auto mean =
      static_cast<double>(driver.total_ns - std::min(driver.total_ns, driver.max_ns)) /
      static_cast<double>(driver.count - 1);
  return static_cast<double>(hits.total_ns) >= mean * static_cast<double>(hits.count);
}

void estimate(Savings& result, const Timing& timing, const FreeCalls& frees) {
  result.estimated = are_enough(timing.alloc_driver.count, timing.alloc_hit.count);
  if (!result.estimated) return;
  Range saved;
  add(saved, usual_ns(timing.alloc_driver), timing.alloc_hit.count, timing.alloc_hit.total_ns);
  const std::uint64_t gave_back = frees.by_driver - frees.of_nothing.value_or(frees.by_driver);
  if (frees.given_back_later && are_enough(gave_back, frees.kept)) {
    result.has_frees = true;
    add(saved, usual_ns(without_shortest(timing.free_driver, *frees.of_nothing)),
        result.spared_frees, timing.free_hit.total_ns + timing.sync.total_ns);
  }
  const bool is_none = saved.least <= 0 && were_hits_as_slow(timing.alloc_hit, timing.alloc_driver);
  result.least_ns = positive_ns(saved.least);
  result.most_ns = is_none ? 0 : positive_ns(saved.most);
}

// Nothing longer was measured: this is a convention, as several threads could have waited in the
// driver at one time.
void cut(Savings& result, std::uint64_t run_ns) {
  if (run_ns == 0 || result.most_ns <= run_ns) return;
  result.is_cut = true;
  result.least_ns = std::min(result.least_ns, run_ns);
  result.most_ns = run_ns;
}

Savings savings(const Report& report, const Timing& timing, const FreeCalls& frees) {
  Savings result;
  result.hits = timing.alloc_hit.count;
  result.allocations = timing.alloc_hit.count + timing.alloc_driver.count;
  result.kept_frees = frees.kept;
  result.given_back_later = frees.given_back_later.value_or(0);
  result.spared_frees = frees.kept - std::min(frees.kept, result.given_back_later);
  if (frees.given_back_later) {
    const std::uint64_t all = result.hits + frees.kept;
    result.driver_calls = all - std::min(all, *frees.given_back_later);
  }
  if (is_of_several(report)) return result;
  estimate(result, timing, frees);
  cut(result, report.timeline.duration_ns);
  return result;
}

}  // namespace

Savings device_savings(const Report& report, const DeviceReport& device) {
  return savings(report, device.timing, free_calls(report, device));
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
  FreeCalls frees = host_free_calls(report);
  frees.of_nothing = frees.by_driver;  // registrations are among them: no measure, either
  return savings(report, timing, frees);
}

}  // namespace vramscope
