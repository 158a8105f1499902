// totals_text() is what listings end with: all that was allocated, in two lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// Allocations, how many were temporary (freed before their thread allocated again), the time in
// them, the peak of each memory, and what was never freed. Ends with a newline.
[[nodiscard]] std::string totals_text(const Report& report, const Page& page);

}  // namespace vramscope
