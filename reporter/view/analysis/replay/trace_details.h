// detailed_report() makes of a trace a report that listings of places and owners can be made of:
// besides totals it has how long memory lived, when it was allocated, and what each value held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Filter;
class TraceReader;

struct DetailedReport {
  Report report;
  std::string missing = {};  // what the filter names and the trace does not have
  std::string problem = {};  // of the trace
};

// Of what passes: what is counted is counted as if the program had done nothing else, and nothing
// is left out of it afterwards. Its trigger is `trace`: whether the program has ended is not known,
// nor are devices, segments and counters. May throw bad_alloc.
[[nodiscard]] DetailedReport detailed_report(TraceReader& reader, const Filter& filter,
                                             const NameFrame& name);

}  // namespace vramscope
