// sites_in_report() finds the call sites of a trace in the report of the same process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/record/trace/fact_code.h"
#include "reporter/report/report.h"

namespace vramscope {

// Returns, for each site of the trace, the index of the report's site with the same stack: the same
// addresses in the same modules, the same lines of Python. -1: the report has none, or the site is
// one that stands for unknown stacks. The report's frames are as they were recorded. May throw
// bad_alloc.
[[nodiscard]] std::vector<std::int64_t> sites_in_report(const Report& report,
                                                        const TraceNames& names);

}  // namespace vramscope
