// report_of_trace() makes of a trace's totals as much of a report as they tell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/record/trace/fact_code.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

// Process, kinds, functions, frames and sites with their parts, once all was followed and
// totals.finish() was called. Sites are those of the trace, in its order, those that allocated
// nothing too; site 0 is the unknown one. May throw bad_alloc.
[[nodiscard]] Report report_of_trace(const TraceFollower& trace, const TraceTotals& totals);

// Those that the program set. May throw bad_alloc.
[[nodiscard]] std::vector<NamedInstant> marks_of_trace(const TraceFollower& trace);

// The site of a tag; that of a tag which the trace does not know is 0.
[[nodiscard]] std::size_t site_of_tag(const TraceNames& names, Tag tag);

// The files that may be the trace of a report in `report_file`: beside it, then where it was
// written. Those that are there.
[[nodiscard]] std::vector<std::string> trace_files(const std::string& report_file,
                                                   const TraceReport& trace);

// Whether it holds all events of the run that the report is of, up to the report and no more: no
// other process's, and none that came later or was lost.
[[nodiscard]] bool is_whole_trace_of(const TraceReader& reader, const ProcessFacts& process,
                                     const TraceReport& trace);

// The first of trace_files() that is it, of a report of one process that was written to its end;
// "": none. Reads the heads of all chunks.
[[nodiscard]] std::string whole_trace_of(const std::string& report_file, const Report& report);

}  // namespace vramscope
