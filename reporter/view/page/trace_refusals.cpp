// Keeps what lives by call stack, to say who held it when an allocation failed.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/trace_refusals.h"

#include <algorithm>
#include <tuple>

#include "reporter/view/analysis/replay/trace_report.h"

namespace vramscope {
namespace {

constexpr std::size_t kEvents = 17;  // as in reports: the first 16 and the last
constexpr std::size_t kShares = 10;

}  // namespace

std::size_t TraceRefusals::site_of(Tag tag) const {
  return sites_[std::min(site_of_tag(names_, tag), sites_.size() - 1)];
}

OomEvent TraceRefusals::event_of(const TraceEvent& one) const {
  const Event& event = one.event;
  const std::vector<ThreadFact>& threads = names_.facts.threads;
  const bool has_name = event.function < names_.functions.size();
  OomEvent result{.number = report_.count,
                  .time_ns = now_,
                  .function = has_name ? names_.functions[event.function] : "",
                  .kind = event.place.kind,
                  .device = event.place.device,
                  .bytes = event.bytes,
                  .tag = event.tag};
  if (event.tag != 0) result.site = static_cast<std::int64_t>(site_of(event.tag));
  if (one.thread < threads.size()) result.thread = threads[one.thread].name;
  return result;
}

// Of a storm only the first ones and the last are told; its holders when memory changes next.
void TraceRefusals::add(const TraceEvent& one) {
  const Event& event = one.event;
  now_ = std::max(now_, after(first_ns_, event.start_ns));
  const bool fails = event.failed && is_allocating(event.effect) &&
                     filter_.passes(event.tag, event.place, event.bytes);
  if (fails) {
    ++report_.count;
    if (report_.count > kEvents)
      report_.events.pop_back();
    else
      tell_holders();
    report_.events.push_back(event_of(one));
    lacks_holders_ = true;
  }
  memory_.add(one, *this);
}

// Before memory changes after an allocation that failed.
void TraceRefusals::tell_holders() {
  if (!lacks_holders_) return;
  lacks_holders_ = false;
  OomEvent& event = report_.events.back();
  for (const auto& [where, sites] : held_) {
    if (!holds_memory(where.first)) continue;  // the same bytes would be counted again
    for (const auto& [site, held] : sites) {
      if (held.count == 0 || is_host(where.first) != is_host(event.kind)) continue;
      if (has_device(where.first) && where.second != event.device) continue;
      event.requested_bytes += held.bytes;
      event.allocation_count += held.count;
      event.shares.push_back({.site = static_cast<std::int64_t>(site),
                              .kind = where.first,
                              .live_bytes = held.bytes,
                              .live_count = held.count});
    }
  }
  std::sort(event.shares.begin(), event.shares.end(), [](const OomShare& a, const OomShare& b) {
    return std::tie(b.live_bytes, a.site) < std::tie(a.live_bytes, b.site);
  });
  event.shares.resize(std::min(event.shares.size(), kShares));
}

void TraceRefusals::came(const TraceBlock& block, const Event&) {
  tell_holders();
  const std::uint16_t device = has_device(block.place.kind) ? block.place.device : 0;
  Held& held = held_[{block.place.kind, device}][site_of(block.tag)];
  held.bytes += block.bytes;
  ++held.count;
}

void TraceRefusals::went(const TraceBlock& block, TraceMemory::End) {
  tell_holders();
  const std::uint16_t device = has_device(block.place.kind) ? block.place.device : 0;
  Held& held = held_[{block.place.kind, device}][site_of(block.tag)];
  held.bytes -= block.bytes;
  --held.count;
}

OomReport TraceRefusals::finish() {
  tell_holders();
  return std::move(report_);
}

}  // namespace vramscope
