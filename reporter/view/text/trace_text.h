// trace_text() shows the totals of a trace, trace_csv() every event as a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// What is said of a trace that was not written to its end.
inline constexpr std::string_view kNoEnd =
    "has no end: the program was killed, or still runs; its last second may be missing";

struct TraceListing {
  const TraceFollower& followed;
  const TraceTotals& totals;
  std::size_t file_bytes = 0;  // as it lies there, compressed or not
  std::size_t bytes = 0;       // uncompressed
  std::uint64_t lost = 0;      // events that never came into the file
  std::uint64_t damaged = 0;   // chunks left out
  bool complete = true;
  std::uint64_t all_events = 0;  // where only some of them pass a filter; 0: all do
  StackChoice stacks = {};       // which frames of sites are shown
  // If the trace began amid the run: when, by the clock of events, and what was live then.
  std::optional<std::uint64_t> begun_ns = {};
  std::uint64_t before_count = 0, before_bytes = 0;
};

// choice: of rows of sites and functions.
[[nodiscard]] Document trace_text(const TraceListing& trace, const NameFrame& name,
                                  const Page& page, const RowChoice& choice);
[[nodiscard]] std::string trace_json(const TraceListing& trace, const NameFrame& name,
                                     const RowChoice& choice);

// What trace_json() writes. The sites' report outlives it.
[[nodiscard]] Columns<TraceListing> trace_fields(const Report& sites, const NameFrame& name,
                                                 const RowChoice& choice);

// Of the rows of sites and of functions.
[[nodiscard]] std::vector<std::vector<std::string>> trace_columns();

// Titles, then a line for each event. Times are nanoseconds since 1970.
[[nodiscard]] std::vector<std::string> trace_csv_titles();
void add_trace_csv(CsvText& csv, const TraceEvent& event, const TraceNames& names);

}  // namespace vramscope
