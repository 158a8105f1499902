// Adds events up, as the allocator and the recorder count while the program runs.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_totals.h"

#include <algorithm>

namespace vramscope {

using trace::What;

void gain(TraceHolding& held, std::uint64_t bytes) {
  ++held.allocations;
  ++held.live_count;
  held.bytes += bytes;
  held.live_bytes += bytes;
}
void lose(TraceHolding& held, std::uint64_t bytes) {
  ++held.frees;
  --held.live_count;
  held.live_bytes -= bytes;
}

void gain(TraceKind& kind, std::uint64_t bytes, const Event& event) {
  gain(kind.held, bytes);
  if (kind.held.live_bytes <= kind.held.peak_bytes) return;
  kind.held.peak_bytes = kind.held.live_bytes;
  kind.peak_ns = event.start_ns;
  kind.peak_tag = event.tag;
  ++kind.peak_number;
}

void catch_up(TraceTag& tag, std::uint64_t peak_number) {
  if (tag.peak_number == peak_number) return;
  tag.peak_number = peak_number;
  tag.held.peak_bytes = tag.held.live_bytes;
  tag.held.peak_count = tag.held.live_count;
}

TraceTag& TraceTotals::touch(Tag tag, Place place) {
  const std::pair key{tag, place_of(place)};
  if (last_ == nullptr || last_->first != key) last_ = &*tags.try_emplace(key).first;
  TraceTag& found = last_->second;
  if (found.kind == nullptr) found.kind = &kinds[key.second];
  catch_up(found, found.kind->peak_number);
  return found;
}

void TraceTotals::event(const FollowedEvent& now) {
  if (!now.passes || now.one.what == What::live_before) return;
  const Event& event = now.one.event;
  count(now.one);
  if (now.one.what > What::went || event.tag == 0 || !is_allocating(event.effect)) return;
  touch(event.tag, event.place).total_ns += event.total_ns;
}

void TraceTotals::count(const TraceEvent& one) {
  const Event& event = one.event;
  ++events;
  ++threads[one.thread];
  if (events == 1) first_ns = event.start_ns;
  first_ns = std::min(first_ns, event.start_ns);
  last_ns = std::max(last_ns, event.start_ns + event.total_ns);
  if (one.what > What::went) return;
  TraceFunction& function = functions[event.function];
  ++calls;
  ++function.calls;
  function.total_ns += event.total_ns;
  function.max_ns = std::max(function.max_ns, event.total_ns);
  failures += event.failed ? 1 : 0;
  function.failures += event.failed ? 1 : 0;
}

void TraceTotals::came(const TraceBlock& block, const FollowedEvent& now) {
  if (!block.passes) return;
  TraceTag& tag = touch(block.tag, block.place);
  gain(tag.held, block.bytes);
  gain(*tag.kind, block.bytes, now.one.event);
}

void TraceTotals::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) {
  if (!block.passes) return;
  TraceTag& tag = touch(block.tag, block.place);
  lose(tag.held, block.bytes);
  lose(tag.kind->held, block.bytes);
}

void TraceTotals::finish() {
  for (auto& [key, tag] : tags) catch_up(tag, tag.kind->peak_number);
}

}  // namespace vramscope
