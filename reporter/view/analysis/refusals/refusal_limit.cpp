// Counts against the limit.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/refusals/refusal_limit.h"

#include <algorithm>

#include "interpose/settings/options.h"
#include "reporter/report/options_of.h"
#include "reporter/report/report.h"

namespace vramscope {

std::uint64_t counted_then(const OomEvent& event) {
  return event.counted_bytes != 0 ? event.counted_bytes : counted_when_looked(event);
}

std::uint64_t counted_when_looked(const OomEvent& event) {
  return event.reserved_bytes + event.direct_bytes + event.rounding_bytes + event.context_bytes +
         event.module_bytes;
}

std::uint64_t refusing_limit(const Report& report, const OomEvent& event) {
  CapacityOption limits;
  if (!event.by_limit || event.device >= limits.bytes.size()) return 0;
  return read(option_of(report, "device_memory_limit"), limits) ? limits.bytes[event.device] : 0;
}

std::uint64_t free_under_limit(std::uint64_t limit, const OomEvent& event) {
  return limit - std::min(limit, counted_then(event));
}

}  // namespace vramscope
