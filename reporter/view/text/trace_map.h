// trace_map() says what a trace's memory was like at one instant, as a report written then would.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/text/map_text.h"

namespace vramscope {

struct TraceInstant {
  enum class What : std::uint8_t { end, peak, oom, time };
  What what = What::end;
  std::uint64_t at_ns = 0;  // of `time`: after the trace's first event
  // Of `peak`: whose; unset: that of the kind and device which held most.
  std::optional<Kind> kind = {};
  std::optional<std::uint16_t> device = {};
};

struct TraceMap {
  Report report;  // with sites as in the trace, and segments that have live blocks
  MapMoment moment;
  std::string problem;  // "": none; else what is wrong with the trace, or with the instant
};

// A trace does not tell segments: one of ours begins where an allocation needed the driver, and
// reaches as far as blocks were seen in it, rounded as the driver does. Those without a live block
// are not there: whether they were kept is not known. Reads the trace twice. May throw bad_alloc.
[[nodiscard]] TraceMap trace_map(TraceReader& reader, const TraceInstant& instant);

}  // namespace vramscope
