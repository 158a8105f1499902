// Lists the JSON fields of out-of-memory events, as fields.h does for the rest of the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/field_forms.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

template <IsOne<OomShare> Self, class F>
void visit_fields(Self& share, F&& f) {
  f("site", OrNull{share.site, -1});
  f.required("kind", share.kind);
  f("live_bytes", share.live_bytes);
  f("live_count", share.live_count);
}

template <IsOne<OomOwner> Self, class F>
void visit_fields(Self& owner, F&& f) {
  f.required("owner", owner.owner);
  f.required("kind", owner.kind);
  f("live_bytes", owner.live_bytes);
}

template <IsOne<OomPin> Self, class F>
void visit_fields(Self& pin, F&& f) {
  f("site", OrNull{pin.site, -1});
  f("segments", pin.segments);
  f("total_size", pin.total_size);
  f("free_bytes", pin.free_bytes);
  f("largest_free_bytes", pin.largest_free_bytes);
  f("live_bytes", pin.live_bytes);
  f("live_count", pin.live_count);
}

template <IsOne<OomEvent> Self, class F>
void visit_fields(Self& event, F&& f) {
  f.required("number", event.number);
  f("time_ns", event.time_ns);
  f("function", event.function);
  f.required("kind", event.kind);
  f("device", Ordinal{event.device});
  f("bytes", event.bytes);
  f("site", OrNull{event.site, -1});
  f("thread", event.thread);
  f("range", event.range);
  f("by_limit", event.by_limit);
  f("counted_bytes", event.counted_bytes);
  f("is_watched", event.is_watched);
  f("served_ns", OrNull{event.served_ns, -1});
  f("served_site", OrNull{event.served_site, -1});
  f("has_details", event.has_details);
  f("total_bytes", event.total_bytes);
  f("free_bytes", event.free_bytes);
  f("reserved_bytes", event.reserved_bytes);
  f("allocated_bytes", event.allocated_bytes);
  f("requested_bytes", event.requested_bytes);
  f("allocation_count", event.allocation_count);
  f("pending_bytes", event.pending_bytes);
  f("idle_bytes", event.idle_bytes);
  f("split_free_bytes", event.split_free_bytes);
  f("largest_free_bytes", event.largest_free_bytes);
  f("direct_bytes", event.direct_bytes);
  f("rounding_bytes", event.rounding_bytes);
  f("outside_bytes", event.outside_bytes);
  f("context_bytes", event.context_bytes);
  f("module_bytes", event.module_bytes);
  f("pool_bytes", event.pool_bytes);
  f("pool_pending_bytes", event.pool_pending_bytes);
  f.if_there("before_bytes", event.before_bytes);
  f("native_free_bytes", event.native_free_bytes);
  f("shares", event.shares);
  f("owners", event.owners);
  f("pins", event.pins);
}

template <IsOne<OomReport> Self, class F>
void visit_fields(Self& oom, F&& f) {
  f("count", oom.count);
  f("events", oom.events);
}

}  // namespace vramscope
