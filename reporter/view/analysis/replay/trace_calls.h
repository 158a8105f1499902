// TraceCalls counts the driver calls of a trace by function and by thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// Threads: one. May throw bad_alloc.
class TraceCalls final : public TraceObserver {
 public:
  explicit TraceCalls(const TraceNames& names) : names_(names) {}
  void event(const FollowedEvent& now) override;

  // Once all was followed, which took length_ns.
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
  std::map<std::uint16_t, Totals> functions_;
  std::map<std::uint32_t, Totals> threads_;
};

}  // namespace vramscope
