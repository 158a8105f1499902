// What a map says of memory that the driver has, and the cache has not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/memory_map.h"

namespace vramscope {

struct Report;

// ", and keep 70.0 MiB that was freed", of the driver's pools when the report was written; "":
// nothing, or not known.
[[nodiscard]] std::string kept_by_pools(const Report& report, const MapPlace& place);

// "in a new segment: what the driver has, 56.0 MiB free 1.20 ms before": of a report's own moment;
// "" of a trace's, of host memory, and where memory had run out, of which more is told.
[[nodiscard]] std::string new_segment_text(const Report& report, const MapPlace& place,
                                           const MapMoment& moment);

}  // namespace vramscope
