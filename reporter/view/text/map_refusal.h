// What was refused at the instant of a map.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/map_answer.h"
#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// "refused then: 300 MiB (the 1st of 2), the driver had 124 MiB free"; "": nothing of this memory.
[[nodiscard]] std::string refused_then_text(const PlaceAnswer& of, const MapMoment& moment);

}  // namespace vramscope
