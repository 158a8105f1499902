// Adds up the calls of the driver's functions.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/driver_calls.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/analysis/allocating_threads.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kHalfOfCalls = 50;
constexpr std::uint64_t kNearlyAllCalls = 99;
// Of a run that took so long at least, and of its time so many percent.
constexpr std::uint64_t kShortestRunNs = 100'000'000;
constexpr std::uint64_t kMuchOfRunPercent = 50;

// So many percent of the calls took at most that: the end of a bucket, or the longest call.
std::optional<std::uint64_t> took_at_most(const Duration& time, std::uint64_t percent) {
  std::uint64_t counted = 0;
  for (const std::uint64_t here : time.histogram) counted += here;
  if (counted == 0) return {};
  const std::uint64_t wanted =
      counted - counted / 100 * (100 - percent) - counted % 100 * (100 - percent) / 100;
  std::uint64_t passed = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < time.histogram.size() && (passed += time.histogram[bucket]) < wanted)
    ++bucket;
  const bool is_last = bucket + 1 == time.histogram.size();
  const std::uint64_t end = std::uint64_t{2} << bucket;
  return is_last ? time.max_ns : std::min(end, time.max_ns);
}

// Of the calls that the run itself took, one after the other where it had one thread.
void describe_run_of(DriverCalls& calls, const Report& report) {
  calls.threads = allocating_threads(report).value_or(0);
  if (!is_of_several(report)) calls.run_ns = report.timeline.duration_ns;
  std::uint64_t waited = 0;
  std::uint64_t timed = 0;
  const auto add = [&](const Timing& timing) {
    Timing::visit(timing, [&](const char*, const Duration& time) { timed += time.count; });
    waited += timing.sync.total_ns;
  };
  for (const DeviceReport& device : report.devices) add(device.timing);
  add(report.host.timing);
  if (timed != 0) calls.waited_ns = waited;
}

bool is_of_memory(std::string_view function) {
  return function.starts_with("cuMem") && !function.starts_with("cuMemGet");
}

}  // namespace

DriverCall driver_call(std::string name, const FunctionTotals& totals) {
  return {.name = std::move(name),
          .calls = totals.calls,
          .failures = totals.failures,
          .total_ns = totals.time.total_ns,
          .median_ns = took_at_most(totals.time, kHalfOfCalls),
          .most_ns = took_at_most(totals.time, kNearlyAllCalls),
          .max_ns = totals.time.max_ns};
}

void settle(DriverCalls& calls) {
  std::stable_sort(calls.rows.begin(), calls.rows.end(), [](const auto& a, const auto& b) {
    return std::tie(b.total_ns, b.calls, a.name) < std::tie(a.total_ns, a.calls, b.name);
  });
  calls.calls = calls.failures = calls.total_ns = 0;
  for (const DriverCall& row : calls.rows) {
    calls.calls += row.calls;
    calls.failures += row.failures.value_or(0);
    calls.total_ns += row.total_ns;
  }
}

DriverCalls driver_calls(const Report& report) {
  DriverCalls calls;
  for (const FunctionFacts& function : report.functions)
    calls.rows.push_back(driver_call(function.name, function.totals));
  settle(calls);
  describe_run_of(calls, report);
  if (report.chosen) {  // of some functions, of which a report tells neither waits nor threads
    calls.waited_ns.reset();
    if (calls.threads > 1) calls.threads = 0;
  }
  return calls;
}

DriverCalls allocating_calls(const Report& report) {
  std::map<std::string, DriverCall> by_thread;
  for (const AxisEntry& row : report.axes) {
    if (row.axis != Axis::thread || row.totals.total_count == 0) continue;
    DriverCall& call = by_thread[row.value];
    call.name = row.value;
    call.calls += row.totals.total_count;
    call.total_ns += row.totals.total_ns;
  }
  DriverCalls calls;
  for (const auto& [name, call] : by_thread) calls.rows.push_back(call);
  settle(calls);
  describe_run_of(calls, report);
  calls.waited_ns.reset();
  calls.are_all_threads = !by_thread.contains("others") && !by_thread.contains("unknown");
  calls.threads = calls.are_all_threads ? by_thread.size() : 0;
  return calls;
}

bool took_much(const Report& report) {
  const std::uint64_t run_ns = is_of_several(report) ? 0 : report.timeline.duration_ns;
  if (run_ns < kShortestRunNs) return false;
  std::uint64_t total_ns = 0;
  for (const FunctionFacts& function : report.functions)
    if (is_of_memory(function.name)) total_ns += function.totals.time.total_ns;
  return total_ns > run_ns / 100 * kMuchOfRunPercent;
}

std::vector<CallChange> call_changes(const DriverCalls& before, const DriverCalls& after) {
  std::map<std::string, CallChange> by_name;
  for (const DriverCall& row : before.rows) by_name[row.name].before = row;
  for (const DriverCall& row : after.rows) by_name[row.name].after = row;
  std::vector<CallChange> changes;
  for (auto& [name, change] : by_name) {
    change.name = name;
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::abs(a.change_ns()) > std::abs(b.change_ns());
  });
  return changes;
}

}  // namespace vramscope
