// detailed_report() makes of a trace a report that listings of places and owners can be made of:
// besides totals it has how long memory lived, when it was allocated, and what each value held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/joint_peaks.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

struct Filter;

// What is beyond totals. Threads: one.
class TraceDetails : public TraceObserver {
 public:
  // Of what was followed; totals and joint are of the same events, filter is that of the trace. May
  // throw bad_alloc.
  [[nodiscard]] virtual Report report(const TraceFollower& trace, const Filter& filter,
                                      const TraceTotals& totals, const JointPeaks& joint) = 0;
};
// names: outlive it. May throw bad_alloc.
[[nodiscard]] std::unique_ptr<TraceDetails> trace_details(const TraceNames& names);

// Of what passes: what is counted is counted as if the program had done nothing else, and nothing
// is left out of it afterwards. Its trigger is `trace`: whether the program has ended is not known,
// nor are devices, segments and counters. filter: that of the trace. Nothing: missing() or
// problem() of the trace says why. May throw bad_alloc.
[[nodiscard]] std::optional<Report> detailed_report(TraceFollower& trace, const Filter& filter);

}  // namespace vramscope
