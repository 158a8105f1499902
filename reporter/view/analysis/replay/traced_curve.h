// traced_curve() returns what a process held over time of all kinds of memory, from its trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

// The exact curve of all kinds of its device's memory. Nothing: no trace has all that the report
// tells of from the beginning of the run on, or the process used several devices, or it was killed.
// May throw bad_alloc.
[[nodiscard]] std::optional<RunCurve> traced_curve(const ReportOfProcess& one);

}  // namespace vramscope
