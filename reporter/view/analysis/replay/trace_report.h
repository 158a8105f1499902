// report_of_trace() makes a report from a trace's totals, as far as they suffice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/record/trace/fact_code.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {

// Fills in process, kinds, functions, frames and sites with their parts. The trace must have been
// followed, and totals.finish() called. Sites are those of the trace in its order, including sites
// that allocated nothing; site 0 is the unknown one. May throw bad_alloc.
[[nodiscard]] Report report_of_trace(const TraceFollower& trace, const TraceTotals& totals);

// Returns the marks that the program set. May throw bad_alloc.
[[nodiscard]] std::vector<NamedInstant> marks_of_trace(const TraceFollower& trace);

// Returns the site of a tag; 0 for a tag that the trace does not know.
[[nodiscard]] std::size_t site_of_tag(const TraceNames& names, Tag tag);

// Returns the range in which memory of a tag was allocated; 0: none.
[[nodiscard]] std::uint32_t range_of_tag(const TraceNames& names, Tag tag);

// Returns the existing files that may be the trace of the report in `report_file`: next to it, then
// where it was written.
[[nodiscard]] std::vector<std::string> trace_files(const std::string& report_file,
                                                   const TraceReport& trace);

// Returns whether the trace holds exactly the events of the report's run up to the report: not
// another process's events, none that came later, and none lost.
[[nodiscard]] bool is_whole_trace_of(const TraceReader& reader, const ProcessFacts& process,
                                     const TraceReport& trace);

// Gives `use` each of trace_files() for which that is true, until it returns true. Returns whether
// it did. A killed process has none, since the end of its memory is unknown.
using UseTrace = std::function<bool(TraceReader&)>;
[[nodiscard]] bool use_whole_trace(const std::string& report_file, const MergedProcess& process,
                                   const UseTrace& use);

// Returns the first of trace_files() for which that is true, for a report of one process that was
// written at its end, or "". Reads the heads of all chunks.
[[nodiscard]] std::string whole_trace_of(const std::string& report_file, const Report& report);

}  // namespace vramscope
