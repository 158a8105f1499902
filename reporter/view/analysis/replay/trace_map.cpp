// Looks for an instant of a trace, and follows its blocks up to it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_map.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_segments.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

// The number of events up to and with the instant.
struct Found {
  std::uint64_t events = 0;  // 0: there is no such instant
  std::string text;
  std::uint64_t begun_ns = 0;  // of a peak: when the call that made it began, as peaks are dated
};

// Looks for the instants that cannot be told while a trace is being read for the first time.
class Finder {
 public:
  explicit Finder(const TraceFilter& filter) : totals(filter) {}

  void add(const TraceEvent& one) {
    totals.add(one);
    ++events_;
    const Event& event = one.event;
    if (event.failed && is_allocating(event.effect)) {
      failed_ = events_;
      ++refused_.number;
      refused_.kind = event.place.kind;
      refused_.device = event.place.device;
      refused_.bytes = event.bytes;
      return;
    }
    if (one.what != trace::What::came && one.what != trace::What::came_besides) return;
    const TracePlace where = place_of(event.place);
    const auto kind = totals.kinds.find(where);
    if (kind == totals.kinds.end()) return;
    auto& [number, events] = peaks_[where];
    if (number == kind->second.peak_number) return;
    number = kind->second.peak_number;
    events = events_;
  }

  [[nodiscard]] Found find(const TraceInstant& instant) const {
    if (instant.what == TraceInstant::What::oom) return {failed_, failure_text(), 0};
    if (instant.what != TraceInstant::What::peak) return {events_, "at the end", 0};
    Found found;
    std::uint64_t highest = 0;
    for (const auto& [where, peak] : peaks_) {
      const std::uint64_t bytes = totals.kinds.at(where).held.peak_bytes;
      if (!holds_memory(where.first) || bytes <= highest) continue;
      highest = bytes;
      found = {peak.second, "at the peak of " + memory_name(where.first, where.second),
               totals.kinds.at(where).peak_ns};
    }
    return found;
  }

  // The last, whose number is how many were.
  [[nodiscard]] const OomEvent& refused() const { return refused_; }

  TraceTotals totals;

 private:
  [[nodiscard]] std::string failure_text() const {
    std::string text =
        refused_.number == 1
            ? "when an allocation failed"
            : "when the last of " + std::to_string(refused_.number) + " allocations failed";
    const std::uint64_t asked = refused_.bytes;
    if (asked != 0) text += " (" + amount_text(asked) + ")";
    return text;
  }

  std::map<TracePlace, std::pair<std::uint64_t, std::uint64_t>> peaks_;  // number, events
  std::uint64_t events_ = 0;
  std::uint64_t failed_ = 0;
  OomEvent refused_;  // the last; its number is how many were
};

// The instants that a map is of do not follow from when its blocks were allocated.
TraceFilter without_times(TraceFilter filter) {
  filter.from_ns = 0;
  filter.to_ns = UINT64_MAX;
  return filter;
}

}  // namespace

TraceMap trace_map(TraceReader& reader, const TraceInstant& instant, const Filter& filter,
                   const NameFrame& name) {
  TraceMap map;
  map.missing = missing_from(reader.names(), filter);
  if (!map.missing.empty()) return map;
  const TraceFilter those = trace_filter(reader.names(), filter, name);
  Finder finder(without_times(those));
  TraceSegments segments(reader.names().process.mode == "dedicated", those, reader.segments());
  using enum TraceInstant::What;
  const auto order = TraceReader::Order::by_change;
  if (!reader.read(order, [&](const TraceEvent& event) {
        finder.add(event);
        if (instant.what == end) segments.add(event);
      })) {
    map.problem = reader.problem();
    return map;
  }
  finder.totals.finish();
  map.missing = missing_from(finder.totals);
  if (!map.missing.empty()) return map;
  if (instant.what == time) {
    const std::uint64_t length_ns = finder.totals.end_ns - finder.totals.begin_ns;
    map.missing = ends_before(length_ns, instant.at_ns, "--at");
    if (!map.missing.empty()) return map;
  }
  const Found found = finder.find(instant);
  if (found.events == 0 && instant.what == oom) {
    map.missing = "tells of no allocation that failed: memory never ran out";
    return map;
  }
  if (found.events == 0) {
    map.problem =
        those.is_empty ? "nothing was allocated in it" : "nothing that passes was allocated in it";
    return map;
  }
  const std::uint64_t first_ns = finder.totals.begin_ns;
  const bool is_time = instant.what == time;
  std::uint64_t events = 0, now = 0, last_end_ns = 0;
  bool is_over = false;
  if (instant.what != end && !reader.read(order, [&](const TraceEvent& event) {
        const std::uint64_t at = after(first_ns, event.event.start_ns);
        is_over = is_over || events == found.events || (is_time && at > instant.at_ns);
        if (is_over) return;
        ++events;
        now = std::max(now, at);
        last_end_ns = event.event.start_ns + event.event.total_ns;
        segments.add(event);
      })) {
    map.problem = reader.problem();
    return map;
  }
  if (instant.what == end) segments.end_at(UINT64_MAX);
  if (instant.what == oom) segments.end_at(last_end_ns);
  if (is_time) segments.end_at(first_ns + std::min(instant.at_ns, UINT64_MAX - first_ns));
  map.report = report_of_trace(reader.names(), finder.totals);
  if (!filter.is_empty()) {
    map.report.chosen = Chosen{.by_rows = filter.chooses_rows() || filter.has_times()};
  }
  if (segments.by_pytorch()) map.report.process.options = {{"policy", "pytorch"}};
  segments.put_into(map.report, reader.names(), first_ns);
  map.moment = {.text = is_time ? "then" : found.text,
                .at_ns = is_time               ? instant.at_ns
                         : found.begun_ns != 0 ? after(first_ns, found.begun_ns)
                                               : now,
                .is_of_trace = true,
                .are_inferred = segments.are_inferred()};
  if (instant.what == oom) {
    map.moment.refused = finder.refused();
    map.moment.refusals = finder.refused().number;
  }
  if (instant.what == end) {
    map.moment.at_ns = finder.totals.end_ns - finder.totals.begin_ns;
  }
  return map;
}

}  // namespace vramscope
