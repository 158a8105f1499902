// Keeps what lives by call stack, to say who held it when an allocation failed.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_refusals.h"

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

OomEvent TraceRefusals::event_of(const FollowedEvent& now) const {
  const Event& event = now.one.event;
  const std::vector<ThreadFact>& threads = names_.facts.threads;
  const bool has_name = event.function < names_.functions.size();
  OomEvent result{.number = report_.count,
                  .time_ns = now.at_ns,
                  .function = has_name ? names_.functions[event.function] : "",
                  .kind = event.place.kind,
                  .device = event.place.device,
                  .bytes = event.bytes,
                  .tag = event.tag};
  if (event.tag != 0) result.site = static_cast<std::int64_t>(site_of(event.tag));
  if (now.one.thread < threads.size()) result.thread = threads[now.one.thread].name;
  return result;
}

// Of a storm only the first ones and the last are told; its holders when memory changes next.
void TraceRefusals::event(const FollowedEvent& now) {
  const Event& event = now.one.event;
  if (!now.passes || !event.failed || !is_allocating(event.effect)) return;
  ++report_.count;
  if (report_.count > kEvents)
    report_.events.pop_back();
  else
    tell_holders();
  report_.events.push_back(event_of(now));
  lacks_holders_ = true;
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

void TraceRefusals::came(const TraceBlock& block, const FollowedEvent&) {
  tell_holders();
  Held& held = held_by(block);
  held.bytes += block.bytes;
  ++held.count;
}

void TraceRefusals::went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End) {
  tell_holders();
  Held& held = held_by(block);
  held.bytes -= block.bytes;
  --held.count;
}

OomReport TraceRefusals::finish() {
  tell_holders();
  return std::move(report_);
}

}  // namespace vramscope
