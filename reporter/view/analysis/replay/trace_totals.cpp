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

TraceTag& TraceTotals::touch(Tag tag, TracePlace where, const TraceKind& kind) {
  TraceTag& found = tags[{tag, where}];
  catch_up(found, kind.peak_number);
  return found;
}

void TraceTotals::went(const TraceBlock& block, TraceMemory::End how) {
  if (is_left_out(block)) return;
  if (watcher_ != nullptr) watcher_->went(block, how);
  const TracePlace where = place_of(block.place);
  TraceKind& kind = kinds[where];
  lose(touch(block.tag, where, kind).held, block.bytes);
  lose(kind.held, block.bytes);
}

void TraceTotals::came(const TraceBlock& block, const Event& event) {
  if (!filter_.is_empty) {
    if (left_out_.size() <= block.slot) left_out_.resize(block.slot + std::size_t{1});
    left_out_[block.slot] = is_before_ || !filter_.passes(block.tag, block.place, block.bytes);
    if (left_out_[block.slot]) return;
  }
  if (watcher_ != nullptr) watcher_->came(block, event);
  const TracePlace where = place_of(block.place);
  TraceKind& kind = kinds[where];
  gain(touch(block.tag, where, kind).held, block.bytes);
  gain(kind, block.bytes, event);
}

// Of an event that passes.
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
  failures += event.failed ? 1 : 0;
  function.failures += event.failed ? 1 : 0;
}

// Whether it passes or not.
void TraceTotals::look_at(const Event& event) {
  if (!has_begun_) begin_ns = filter_.begin_of(event.start_ns);
  has_begun_ = true;
  begin_ns = std::min(begin_ns, event.start_ns);
  end_ns = std::max(end_ns, event.start_ns + event.total_ns);
  const bool is_of_device = has_device(event.place.kind) && event.effect != Effect::none;
  if (!is_of_device || event.place.device == last_device_) return;
  last_device_ = event.place.device;
  devices.insert(event.place.device);
}

void TraceTotals::add(const TraceEvent& one) {
  const Event& event = one.event;
  bool passes = true;
  look_at(event);
  if (!filter_.is_empty) {
    const std::uint64_t instant = after(begin_ns, event.start_ns);
    if (instant > filter_.to_ns) return;
    is_before_ = instant < filter_.from_ns;
    passes = !is_before_ && filter_.passes(event.tag, event.place, event.bytes);
  }
  if (passes) count(one);
  memory_.add(one, *this);
  if (passes && one.what <= What::went && event.tag != 0 && is_allocating(event.effect)) {
    const TracePlace where = place_of(event.place);
    touch(event.tag, where, kinds[where]).total_ns += event.total_ns;
  }
}

void TraceTotals::finish() {
  for (auto& [key, tag] : tags) static_cast<void>(touch(key.first, key.second, kinds[key.second]));
}

}  // namespace vramscope
