// timeline_text() draws how much was allocated over time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/analysis/run_timeline.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/plot.h"

namespace vramscope {

struct TimelineLook {
  Scale scale = Scale::automatic;
  std::size_t lines = 24;  // of the terminal: what the plots share
  std::size_t most = 0;    // kinds of memory and devices; 0: all
  bool must_fit = false;   // fewer curves, marks and ranges where there are not the lines for them
};

// A curve for each kind of memory and device, and one for all kinds of a device that had several:
// an upper bound, not above the report's joint_bounds where it has them. May throw bad_alloc.
[[nodiscard]] RunTimeline run_timeline(const Report& report, const TimelineChoice& choice);

// Each text and JSON ends with a newline.
[[nodiscard]] Document timeline_text(const RunTimeline& timeline, const TimelineLook& look,
                                     const Page& page);
[[nodiscard]] Columns<RunTimeline> timeline_fields(std::size_t most);
[[nodiscard]] std::string timeline_json(const RunTimeline& timeline, std::size_t most);

[[nodiscard]] Columns<RunCurve> curve_columns();

// A bucket of a curve.
struct RunBucket {
  const RunCurve* curve = nullptr;
  std::size_t number = 0;
  std::uint64_t end_ns = 0;  // of the bucket, not after the end of the run
};
[[nodiscard]] Columns<RunBucket> bucket_columns();
// Of every curve its buckets.
void add_timeline_csv(CsvText& csv, const RunTimeline& timeline, const RowChoice& choice);

}  // namespace vramscope
