// full_in_ns() says when a place that grows has taken all that is left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/view/analysis/digest.h"

namespace vramscope {

// As fast as it came, until what is free on the device, or under --device-memory-limit, and what is
// idle in our cache are gone; blocks take as much more than was requested as all blocks do. From
// the report's instant on; 0: not known, or more than a year.
[[nodiscard]] std::uint64_t full_in_ns(const Report& report, const Share& share);

}  // namespace vramscope
