// What a person is told of an expectation that is not met: the limits, the figures, the call sites.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "interpose/driver/profiler.h"
#include "interpose/life/expectations.h"

namespace vramscope {

// Returns a line about the limits that do not hold, and one for each call site: those with the most
// memory that is new and live, the largest first, and the one whose allocation reached the most new
// bytes. Costs a snapshot. May throw bad_alloc. Threads: any, outside of our calls.
[[nodiscard]] std::vector<std::string> failure_text(Profiler& profiler,
                                                    const Expectations::Ended& ended);

}  // namespace vramscope
