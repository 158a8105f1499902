// trace_map() returns the state of a trace's memory at one instant, as a report written then would
// have it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

struct TraceInstant {
  enum class What : std::uint8_t { end, peak, oom, time };
  What what = What::end;
  std::uint64_t at_ns = 0;    // for `time`: after the trace's first event
  std::string text = "then";  // for `time`: how texts call it
};

struct TraceMap {
  Report report;  // has the trace's sites, and segments
  MapMoment moment;
};

// Older traces have no segments. A segment of ours is then assumed to begin where an allocation
// needed the driver, and to end behind the last block seen in it, rounded as the driver does.
// Segments without a live block are missing, since it is not known whether they were kept. Reads
// the trace once, and for a peak or a refusal a second time up to it. Includes segments with a
// block that passes the filter, and idle ones if it asks for no blocks. The peak is that of the
// kind and device that held most of what passes. The filter's times select blocks, as with reports.
// `filter` is the trace's, which must follow all times. Returns nothing on failure; missing() or
// problem() of the trace then says why. May throw bad_alloc.
[[nodiscard]] std::optional<TraceMap> trace_map(TraceFollower& trace, const TraceInstant& instant,
                                                const Filter& filter);

}  // namespace vramscope
