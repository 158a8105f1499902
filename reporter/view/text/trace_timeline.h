// trace_timeline() says how memory went in a window of a run, exactly, from its trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

struct TraceTimeline {
  RunTimeline timeline;
  std::string missing;  // that the filter names: "has no device 1; devices: 0"; "": nothing
  std::string problem;  // "": none; else what is wrong with the trace
};

// Reads the trace twice: buckets are as short as the window allows. NVTX ranges are told by the
// allocations in them. May throw bad_alloc.
// Of the allocations that pass the filter; its times are those of the choice, a window.
[[nodiscard]] TraceTimeline trace_timeline(TraceReader& reader, const TimelineChoice& choice,
                                           Filter filter, const NameFrame& name);

}  // namespace vramscope
