// Lists the JSON fields of a report's timeline, as fields.h does for the rest of the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/field_forms.h"
#include "reporter/report/report.h"

namespace vramscope {

template <IsOne<TimelineSeries> Self, class F>
void visit_fields(Self& series, F&& f) {
  f.required("kind", series.kind);
  f("device", Ordinal{series.device});
  f.required("bucket_ns", series.bucket_ns);
  f("highest", series.highest);
  f("last", series.last);
}

template <IsOne<TimelineFacts> Self, class F>
void visit_fields(Self& timeline, F&& f) {
  f("start_ns", timeline.start_ns);
  f("duration_ns", timeline.duration_ns);
  f("past_interval_ns", timeline.past_interval_ns);
  f("past_interval", timeline.past_interval);
  f("allocations", timeline.allocations);
  f("series", timeline.series);
}

}  // namespace vramscope
