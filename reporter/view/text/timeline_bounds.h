// add_bounds() has a timeline of several processes tell of the same peaks as `report` does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/report.h"
#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

// Raises the bounds of curves and marks to what the processes of a merged report can have held
// together when each one's dates are late or early by what is usual (usage_bounds.h): its buckets,
// which were added as dated, do not tell that. Nothing of one process, and where rows were chosen.
// May throw bad_alloc.
void add_bounds(RunTimeline& timeline, const Report& report);

}  // namespace vramscope
