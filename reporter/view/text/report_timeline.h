// run_timeline() makes a timeline of a report, with marks in words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

// A curve for each kind of memory and device, and one for all kinds of a device that had several:
// an upper bound, not above the report's joint_bounds where it has them. May throw bad_alloc.
[[nodiscard]] RunTimeline run_timeline(const Report& report, const TimelineChoice& choice);

}  // namespace vramscope
