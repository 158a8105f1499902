// ToldTotals tells TraceTotals of events, of which all pass: the tool's follower knows filters,
// too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

class ToldTotals : private TraceMemory::Changes {
 public:
  explicit ToldTotals(TraceTotals& totals) : totals_(totals) {}
  void add(const TraceEvent& event) {
    const FollowedEvent now{.one = event};
    now_ = &now;
    totals_.event(now);
    memory_.add(event, *this);
  }

 private:
  void came(const TraceBlock& block, const Event&) override { totals_.came(block, *now_); }
  void went(const TraceBlock& block, TraceMemory::End how) override {
    totals_.went(block, *now_, how);
  }

  TraceTotals& totals_;
  TraceMemory memory_;
  const FollowedEvent* now_ = nullptr;
};

}  // namespace vramscope
