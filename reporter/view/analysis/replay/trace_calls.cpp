// Counts each call of a trace for its function and for its thread.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_calls.h"

#include <set>

#include "reporter/report/attribution.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/replay/trace_filter.h"
#include "reporter/view/analysis/stacks/thread_names.h"

namespace vramscope {
namespace {

bool has(const std::vector<bool>& chosen, std::size_t number) {
  return chosen.empty() || (number < chosen.size() && chosen[number]);
}

}  // namespace

ChosenCalls chosen_calls(const TraceNames& names, const Filter& filter, const NameFrame& name,
                         const ShowThreadOf& shown) {
  ChosenCalls chosen;
  if (!filter.function.empty()) {
    chosen.missing = no_such_function(filter, names.functions);
    const std::set<std::string> pass = functions_that_pass(filter, names.functions);
    for (const std::string& function : names.functions)
      chosen.functions.push_back(pass.contains(function));
  }
  if (filter.thread.empty()) return chosen;
  const Report report = report_of_names(names);
  const ThreadNames threads(report, name);
  std::set<std::string> all;
  for (const ThreadFact& thread : names.facts.threads)
    if (thread.id != 0) all.insert(thread_text(thread));
  Filter meant = filter;
  name_threads(meant, all, threads);
  const std::string missing =
      no_such_value(meant, Axis::thread, filter.thread, all,
                    [&](const std::string& thread) { return shown(threads, thread); });
  if (!missing.empty()) chosen.missing = missing;
  for (const ThreadFact& thread : names.facts.threads)
    chosen.threads.push_back(meant.passes(Axis::thread, thread_text(thread)));
  return chosen;
}

Filter without_functions_and_threads(const Filter& filter) {
  Filter rest = filter;
  rest.function = rest.thread = "";
  return rest;
}

// What memory did besides its call's own event is no call.
void TraceCalls::event(const FollowedEvent& now) {
  if (!now.passes || now.one.what > trace::What::went) return;
  const Event& event = now.one.event;
  const bool is_chosen =
      has(chosen_.functions, event.function) && has(chosen_.threads, now.one.thread);
  if (!is_chosen) return;
  for (Totals* const totals : {&functions_[event.function], &threads_[now.one.thread]}) {
    ++totals->of.calls;
    totals->of.failures += event.failed ? 1 : 0;
    totals->of.time.add(event.total_ns);
    totals->waited_ns += event.sync_ns;
  }
}

template <class Key, class Name>
DriverCalls TraceCalls::calls_of(const std::map<Key, Totals>& totals, const Name& name,
                                 std::uint64_t length_ns) const {
  DriverCalls calls;
  std::uint64_t waited_ns = 0;
  for (const auto& [key, one] : totals) {
    calls.rows.push_back(driver_call(name(key), one.of));
    calls.rows.back().waited_ns = one.waited_ns;
    waited_ns += one.waited_ns;
  }
  settle(calls);
  calls.waited_ns = waited_ns;
  calls.run_ns = length_ns;
  calls.threads = threads_.size();
  // Threads beyond those that have a number count as one.
  calls.are_all_threads =
      threads_.empty() || threads_.rbegin()->first < names_.facts.threads.size();
  return calls;
}

DriverCalls TraceCalls::by_function(std::uint64_t length_ns) const {
  const auto name = [&](std::uint16_t function) {
    return function < names_.functions.size() ? names_.functions[function] : "unknown";
  };
  return calls_of(functions_, name, length_ns);
}

DriverCalls TraceCalls::by_thread(std::uint64_t length_ns) const {
  const std::vector<ThreadFact>& threads = names_.facts.threads;
  const auto name = [&](std::uint32_t thread) {
    return thread < threads.size() ? thread_text(threads[thread]) : "unknown";
  };
  return calls_of(threads_, name, length_ns);
}

}  // namespace vramscope
