// full_in_ns() estimates when a growing place has used up all remaining memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/view/analysis/report_figures.h"

namespace vramscope {

// Extrapolates the place's growth until the free memory of the device, or under
// --device-memory-limit, and the idle memory of our cache are used up. Blocks are assumed to need
// as much more than was requested as all blocks do. Returns the time after the report; 0: not
// known, or more than a year.
[[nodiscard]] std::uint64_t full_in_ns(const Report& report, const Share& share);

}  // namespace vramscope
