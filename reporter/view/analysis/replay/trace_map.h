// trace_map() says what a trace's memory was like at one instant, as a report written then would.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/map_moment.h"

namespace vramscope {

struct TraceInstant {
  enum class What : std::uint8_t { end, peak, oom, time };
  What what = What::end;
  std::uint64_t at_ns = 0;  // of `time`: after the trace's first event
};

struct TraceMap {
  Report report;  // with sites as in the trace, and segments
  MapMoment moment;
  // What the trace lacks of what the filter names, or the instant: "has no device 1; devices: 0";
  // "": nothing.
  std::string missing;
  std::string problem;  // "": none; else what is wrong with the trace, or with the instant
};

// An older trace does not tell segments: one of ours begins where an allocation needed the driver,
// and reaches as far as blocks were seen in it, rounded as the driver does. Those without a live
// block are not there: whether they were kept is not known. Reads the trace once for its end, and
// twice for other instants. May throw bad_alloc. Segments with a block that passes the filter, idle
// ones if it asks for no blocks. The peak is that of the kind and device which held most of what
// passes; its times are those of blocks, as it is with reports.
[[nodiscard]] TraceMap trace_map(TraceReader& reader, const TraceInstant& instant,
                                 const Filter& filter, const NameFrame& name);

}  // namespace vramscope
