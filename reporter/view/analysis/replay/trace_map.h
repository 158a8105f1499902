// trace_map() says what a trace's memory was like at one instant, as a report written then would.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reporter/report/report.h"
#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

struct TraceInstant {
  enum class What : std::uint8_t { end, peak, oom, time };
  What what = What::end;
  std::uint64_t at_ns = 0;  // of `time`: after the trace's first event
};

struct TraceMap {
  Report report;  // with sites as in the trace, and segments
  MapMoment moment;
};

// An older trace does not tell segments: one of ours begins where an allocation needed the driver,
// and reaches as far as blocks were seen in it, rounded as the driver does. Those without a live
// block are not there: whether they were kept is not known. Reads the trace once, and of a peak or
// a refusal a second time up to it. May throw bad_alloc. Segments with a block that passes the
// filter, idle ones if it asks for no blocks. The peak is that of the kind and device which held
// most of what passes; its times are those of blocks, as it is with reports. `filter` is that of
// the trace, which follows all times. Nothing: missing() or problem() of the trace says why.
[[nodiscard]] std::optional<TraceMap> trace_map(TraceFollower& trace, const TraceInstant& instant,
                                                const Filter& filter);

}  // namespace vramscope
