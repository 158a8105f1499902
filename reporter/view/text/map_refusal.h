// What was refused at the instant of a map, and whether what is stranded there was why.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// Whether what was refused then would have had enough with what is stranded; false where nothing
// was, or nobody knows what was free.
[[nodiscard]] bool stranding_refused(const Report& report, const MapPlace& place,
                                     const MapMoment& moment);

// "refused then: 300 MiB (the 1st of 2), the driver had 124 MiB free"; "": nothing of this memory.
[[nodiscard]] std::string refused_then_text(const Report& report, const MapPlace& place,
                                            const MapMoment& moment, const Page& page);

}  // namespace vramscope
