// Counts each call of a trace for its function and for its thread.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_calls.h"

#include "reporter/report/attribution.h"

namespace vramscope {

// What memory did besides its call's own event is no call.
void TraceCalls::event(const FollowedEvent& now) {
  if (!now.passes || now.one.what > trace::What::went) return;
  const Event& event = now.one.event;
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
