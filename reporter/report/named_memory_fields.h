// Lists the JSON fields of memory that programs named, as fields.h does for the rest of the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/field_forms.h"
#include "reporter/report/named_memory.h"

namespace vramscope {

template <IsOne<NamedRegions> Self, class F>
void visit_fields(Self& regions, F&& f) {
  f("name", regions.name);
  f("live_bytes", regions.live_bytes);
  f("live_count", regions.live_count);
  f("peak_bytes", regions.peak_bytes);
  f("total_count", regions.total_count);
}

template <IsOne<NamedHeap> Self, class F>
void visit_fields(Self& heap, F&& f) {
  f.required("name", heap.name);
  f("address", heap.address);
  f("bytes", heap.bytes);
  f("is_live", heap.is_live);
  f("regions", heap.regions);
  f("names", heap.names);
}

template <IsOne<NamedMemory> Self, class F>
void visit_fields(Self& memory, F&& f) {
  f("heaps", memory.heaps);
  f("left_out", memory.left_out);
}

}  // namespace vramscope
