// Lists the JSON fields of the comparison with CUPTI, as fields.h does for the rest of the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/cupti_facts.h"
#include "reporter/report/field_forms.h"

namespace vramscope {

template <IsOne<CuptiDifference> Self, class F>
void visit_fields(Self& difference, F&& f) {
  f.required("what", difference.what);
  f.required("kind", difference.kind);
  f("device", Ordinal{difference.device});
  f("address", difference.address);
  f("recorded_bytes", difference.recorded_bytes);
  f("cupti_bytes", difference.cupti_bytes);
  f("source", difference.source);
}

template <IsOne<CuptiSource> Self, class F>
void visit_fields(Self& source, F&& f) {
  f.required("path", source.path);
  f("live_bytes", source.live_bytes);
  f("total_bytes", source.total_bytes);
  f("total_count", source.total_count);
}

template <IsOne<CuptiFacts> Self, class F>
void visit_fields(Self& cupti, F&& f) {
  f("records", cupti.records);
  f("dropped_records", cupti.dropped_records);
  f("confirmed_segments", cupti.confirmed_segments);
  f("confirmed_bytes", cupti.confirmed_bytes);
  f("difference_count", cupti.difference_count);
  f("differences", cupti.differences);
  f("sources", cupti.sources);
  f("pools_created", cupti.pools_created);
  f("pools_destroyed", cupti.pools_destroyed);
  f("pools_trimmed", cupti.pools_trimmed);
}

}  // namespace vramscope
