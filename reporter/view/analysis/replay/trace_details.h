// detailed_report() makes a report from a trace for listings of places and owners: in addition to
// totals it has lifetimes, allocation times, and what each value held.
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

// Counts what totals do not have. Threads: one.
class TraceDetails : public TraceObserver {
 public:
  // Returns the report of what was followed. totals and joint are of the same events; filter is the
  // trace's. May throw bad_alloc.
  [[nodiscard]] virtual Report report(const TraceFollower& trace, const Filter& filter,
                                      const TraceTotals& totals, const JointPeaks& joint) = 0;
};
// `names` outlives the result. May throw bad_alloc.
[[nodiscard]] std::unique_ptr<TraceDetails> trace_details(const TraceNames& names);

// Counts what passes as if the program had done nothing else, and leaves nothing out afterwards.
// The report's trigger is `trace`: it is not known whether the program has ended, nor are devices,
// segments and counters. filter: the trace's filter. Returns nothing on failure; missing() or
// problem() of the trace then says why. May throw bad_alloc.
[[nodiscard]] std::optional<Report> detailed_report(TraceFollower& trace, const Filter& filter);

}  // namespace vramscope
