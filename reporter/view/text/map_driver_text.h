// What a map says of memory that the driver has, and the cache has not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/map_answer.h"

namespace vramscope {

// " and keep 70.0 MiB beyond live memory", of the driver's pools when the report was written; "":
// nothing, or not known.
[[nodiscard]] std::string kept_by_pools(const PlaceAnswer& of);

// "in a new segment: what the driver has, 56.0 MiB free 1.20 ms before"; "": not known.
[[nodiscard]] std::string new_segment_text(const PlaceAnswer& of);

}  // namespace vramscope
