// Adds a trace's events up in buckets of a window.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_timeline.h"

#include <algorithm>
#include <set>
#include <utility>

#include "reporter/base/axes.h"
#include "reporter/base/range_path.h"
#include "reporter/view/analysis/replay/trace_report.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kBuckets = 2048;  // more than a terminal has columns

}  // namespace

void TraceTimeline::Curve::change(std::uint64_t at, std::uint64_t bytes, bool came) {
  advance(at);
  now = came ? now + bytes : now - std::min(bytes, now);
  if (at < curve.first_ns || curve.highest.empty()) return;
  curve.highest.back() = std::max(curve.highest.back(), now);
  curve.last.back() = now;
}

void TraceTimeline::Curve::advance(std::uint64_t at) {
  if (at < curve.first_ns) return;
  const std::uint64_t wanted = (at - curve.first_ns) / curve.bucket_ns + 1;
  while (curve.highest.size() < wanted && curve.highest.size() < kBuckets) {
    curve.highest.push_back(now);
    curve.last.push_back(now);
  }
}

TraceTimeline::TraceTimeline(const TraceFollower& trace, const TimelineChoice& choice)
    : trace_(trace), choice_(choice) {
  timeline_.is_of_trace = true;
  timeline_.start_ns = trace.start_ns();
  timeline_.length_ns = trace.length_ns();
  choose(timeline_, choice);  // the window
}

void TraceTimeline::event(const FollowedEvent& now) {
  if (now.at_ns > timeline_.to_ns) return;
  const Event& event = now.one.event;
  const bool allocates = now.passes && is_allocating(event.effect);
  if (event.failed && allocates) add_mark(RunMark::What::refused, now);
  if (now.one.what == trace::What::place_ended) add_mark(RunMark::What::reset, now);
  if (allocates && !event.failed && now.at_ns >= timeline_.from_ns) add_to_range(now);
}

void TraceTimeline::came(const TraceBlock& block, const FollowedEvent& now) {
  change(block, now, true);
}

void TraceTimeline::went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End) {
  change(block, now, false);
}

void TraceTimeline::change(const TraceBlock& block, const FollowedEvent& now, bool came) {
  if (!block.passes || now.at_ns > timeline_.to_ns) return;
  const auto [kind, device] = place_of(block.place);
  curve_of({false, kind, device}).change(now.at_ns, block.bytes, came);
  if (!takes_device_memory(kind)) return;
  curve_of({true, Kind::device, device}).change(now.at_ns, block.bytes, came);
}

TraceTimeline::Curve& TraceTimeline::curve_of(const Which& which) {
  const auto [found, is_new] = curves_.try_emplace(which);
  if (is_new) {
    const std::uint64_t length_ns = timeline_.to_ns - timeline_.from_ns;
    found->second.curve = {.kind = std::get<Kind>(which),
                           .device = std::get<std::uint16_t>(which),
                           .is_of_all_kinds = std::get<bool>(which),
                           .first_ns = timeline_.from_ns,
                           .bucket_ns = length_ns / (kBuckets - 1) + 1};
  }
  return found->second;
}

void TraceTimeline::add_mark(RunMark::What what, const FollowedEvent& now) {
  const Event& event = now.one.event;
  const std::vector<std::string>& functions = trace_.names().functions;
  const bool known = event.function < functions.size();
  timeline_.marks.push_back({.what = what,
                             .at_ns = now.at_ns,
                             .kind = event.place.kind,
                             .device = event.place.device,
                             .bytes = what == RunMark::What::refused ? event.bytes : 0,
                             .text = known ? functions[event.function] : ""});
}

void TraceTimeline::add_to_range(const FollowedEvent& now) {
  const std::uint32_t range = range_of_tag(trace_.names(), now.one.event.tag);
  OpenSpan& open = open_[now.one.thread];
  if (range == 0 || range >= trace_.names().facts.ranges.size()) {
    open = {};
    return;
  }
  RunRange& found = ranges_[range];
  if (found.name.empty()) found.name = range_path(trace_.names().facts.ranges, range);
  if (open.range != range) {
    open = {.range = range, .span = found.spans.size()};
    found.spans.emplace_back(now.at_ns, now.at_ns);
  }
  found.spans[open.span].second = now.at_ns;
}

void TraceTimeline::add_peak(const KindTotals& of, bool is_of_all_kinds) {
  if (of.peak_bytes == 0) return;
  timeline_.marks.push_back({.what = RunMark::What::peak,
                             .at_ns = after(trace_.begin_ns(), of.peak_ns),
                             .kind = of.kind,
                             .device = of.device,
                             .is_of_all_kinds = is_of_all_kinds,
                             .bytes = of.peak_bytes});
}

RunTimeline TraceTimeline::finish(const TraceTotals& totals, const JointPeaks& joint) {
  std::set<std::uint16_t> has_several;  // kinds of memory, of these devices
  for (const KindTotals& all : joint.totals()) {
    has_several.insert(all.device);
    add_peak(all, true);
  }
  for (const auto& [where, kind] : totals.kinds) {
    add_peak({.kind = where.first,
              .device = where.second,
              .peak_bytes = kind.held.peak_bytes,
              .peak_ns = kind.peak_ns},
             false);
  }
  for (auto& [which, made] : curves_) {
    made.advance(timeline_.to_ns);
    if (!made.curve.is_of_all_kinds || has_several.contains(made.curve.device))
      timeline_.curves.push_back(std::move(made.curve));
  }
  for (auto& [number, range] : ranges_) timeline_.ranges.push_back(std::move(range));
  std::stable_sort(
      timeline_.ranges.begin(), timeline_.ranges.end(),
      [](const RunRange& a, const RunRange& b) { return a.spans.front() < b.spans.front(); });
  timeline_.named = marks_of_trace(trace_);
  choose(timeline_, choice_);
  put_ranges_of_peak_first(timeline_);
  return std::move(timeline_);
}

std::optional<RunTimeline> trace_timeline(TraceFollower& trace, const TimelineChoice& choice) {
  if (!trace.follow({})) return std::nullopt;
  TraceTotals totals;
  JointPeaks joint;
  TraceTimeline timeline(trace, choice);
  if (!trace.follow({&totals, &joint, &timeline})) return std::nullopt;
  return timeline.finish(totals, joint);
}

}  // namespace vramscope
