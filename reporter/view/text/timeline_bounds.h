// add_bounds() makes a timeline of several processes give the same peaks as `report` and `peak`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/report.h"
#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

// Sets the bounds of curves and marks to what the processes of a merged report can have held
// together (usage_bounds.h). Buckets alone are no bounds: they add what processes held at different
// instants of a bucket, and take the processes' dates as exact. No bucket is left above its bound.
// Changes nothing of one process, nor if rows were chosen. May throw bad_alloc.
void add_bounds(RunTimeline& timeline, const Report& report);

}  // namespace vramscope
