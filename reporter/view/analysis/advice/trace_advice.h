// trace_advice() finds what the order of allocations and frees shows: memory that outlives its
// range at the peak, phases that overlap there, requests that waste pages, and what keeps segments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/advice/advice.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// The report of a trace, and what was found. Sites of the findings are the report's.
struct TraceAdvice {
  Report report;
  std::vector<Advice> found;  // the largest first
  bool has_segments = false;  // else the trace has none, and nothing is known of idle ones
};

// Which frames are kept.
struct StackChoice;

// trace: of the reader, lets everything pass. Reads it several times. Nothing on failure: missing()
// or problem() of the trace then says why. May throw bad_alloc.
[[nodiscard]] std::optional<TraceAdvice> trace_advice(TraceReader& reader, TraceFollower& trace,
                                                      const StackChoice& stacks,
                                                      const NameFrame& name);

}  // namespace vramscope
