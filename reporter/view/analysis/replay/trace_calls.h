// TraceCalls counts the driver calls of a trace that pass a filter, by function and by thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

class ThreadNames;
struct Filter;

// The calls for which a filter asks by function and calling thread, in the trace's numbers of both.
// Empty: all.
struct ChosenCalls {
  std::vector<bool> functions;
  std::vector<bool> threads;
  std::string missing = {};  // "", or what the filter names that the trace lacks
};
// Returns a thread's text in listings.
using ShowThreadOf =
    std::function<std::string(const ThreadNames& threads, const std::string& thread)>;
// May throw bad_alloc.
[[nodiscard]] ChosenCalls chosen_calls(const TraceNames& names, const Filter& filter,
                                       const NameFrame& name, const ShowThreadOf& shown);
// Returns the rest of the filter, about memory and times, which TraceFollower applies. A filter's
// threads are otherwise those that allocated, also for frees by others.
[[nodiscard]] Filter without_functions_and_threads(const Filter& filter);

// Threads: one. May throw bad_alloc.
class TraceCalls final : public TraceObserver {
 public:
  TraceCalls(const TraceNames& names, const ChosenCalls& chosen) : names_(names), chosen_(chosen) {}
  void event(const FollowedEvent& now) override;

  // Must be called after the whole trace was followed, which took length_ns.
  [[nodiscard]] DriverCalls by_function(std::uint64_t length_ns) const;
  [[nodiscard]] DriverCalls by_thread(std::uint64_t length_ns) const;

 private:
  struct Totals {
    FunctionTotals of;
    std::uint64_t waited_ns = 0;
  };
  template <class Key, class Name>
  [[nodiscard]] DriverCalls calls_of(const std::map<Key, Totals>& totals, const Name& name,
                                     std::uint64_t length_ns) const;

  const TraceNames& names_;
  const ChosenCalls& chosen_;
  std::map<std::uint16_t, Totals> functions_;
  std::map<std::uint32_t, Totals> threads_;
};

}  // namespace vramscope
