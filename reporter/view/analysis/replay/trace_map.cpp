// Looks for an instant of a trace, and follows its blocks up to it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_map.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_segments.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/words/quantities.h"

namespace vramscope {
namespace {

// The number of events up to and with the instant.
struct Found {
  std::uint64_t events = 0;  // 0: there is no such instant
  std::string text;
  std::optional<TracePlace> peak_of = {};
  std::uint64_t begun_ns = 0;  // of a peak: when the call that made it began, as peaks are dated
};

// Looks for the instants that cannot be told before the trace's end. Totals hear of events first.
class Finder : public TraceObserver {
 public:
  explicit Finder(const TraceTotals& totals) : totals_(totals) {}

  void event(const FollowedEvent& now) override {
    events_ = now.number;
    const Event& event = now.one.event;
    if (!event.failed || !is_allocating(event.effect)) return;
    failed_ = events_;
    ++refused_.number;
    refused_.kind = event.place.kind;
    refused_.device = event.place.device;
    refused_.bytes = event.bytes;
  }
  void came(const TraceBlock& block, const FollowedEvent&) override {
    if (!block.passes) return;
    const TracePlace where = place_of(block.place);
    auto& [number, events] = peaks_[where];
    const std::uint64_t now = totals_.kinds.at(where).peak_number;
    if (number != now) events = events_;
    number = now;
  }

  [[nodiscard]] Found find(const TraceInstant& instant) const {
    using enum TraceInstant::What;
    if (instant.what == oom) return {.events = failed_, .text = failure_text()};
    if (instant.what != peak) return {.events = events_, .text = "at the end"};
    Found found;
    std::uint64_t highest = 0;
    for (const auto& [where, peak] : peaks_) {
      const TraceKind& kind = totals_.kinds.at(where);
      if (!holds_memory(where.first) || kind.held.peak_bytes <= highest) continue;
      highest = kind.held.peak_bytes;
      found = {.events = peak.second,
               .text = "at the peak of " + memory_name(where.first, where.second),
               .peak_of = where,
               .begun_ns = kind.peak_ns};
    }
    return found;
  }

  // The last, whose number is how many were.
  [[nodiscard]] const OomEvent& refused() const { return refused_; }

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

  const TraceTotals& totals_;
  std::map<TracePlace, std::pair<std::uint64_t, std::uint64_t>> peaks_;  // number, events
  std::uint64_t events_ = 0;
  std::uint64_t failed_ = 0;
  OomEvent refused_;
};

// What the trace lacks to have such an instant, or why there is none; true: there is.
bool has_instant(TraceFollower& trace, const TraceInstant& instant, const Found& found,
                 const Filter& filter) {
  using enum TraceInstant::What;
  if (instant.what == time) trace.lack(ends_before(trace.length_ns(), instant.at_ns, "--at"));
  if (!trace.missing().empty()) return false;
  if (found.events != 0) return true;
  if (instant.what == oom) {
    trace.lack("tells of no allocation that failed: memory never ran out");
  } else {
    trace.fail(filter.is_empty() ? "nothing was allocated in it"
                                 : "nothing that passes was allocated in it");
  }
  return false;
}

// Until when the driver may have given and taken segments, by the clock of the events.
std::uint64_t end_of(const TraceInstant& instant, const TraceFollower& trace,
                     const TraceSegments& segments) {
  using enum TraceInstant::What;
  if (instant.what == end) return UINT64_MAX;
  const std::uint64_t begin_ns = trace.begin_ns();
  if (instant.what == time) return begin_ns + std::min(instant.at_ns, UINT64_MAX - begin_ns);
  return instant.what == oom ? segments.last_end_ns() : 0;
}

std::uint64_t time_of(const TraceInstant& instant, const TraceFollower& trace, const Found& found,
                      const TraceSegments& segments) {
  using enum TraceInstant::What;
  if (instant.what == end) return trace.length_ns();
  if (instant.what == time) return instant.at_ns;
  return found.begun_ns != 0 ? after(trace.begin_ns(), found.begun_ns) : segments.at_ns();
}

}  // namespace

std::optional<TraceMap> trace_map(TraceFollower& trace, const TraceInstant& instant,
                                  const Filter& filter) {
  using enum TraceInstant::What;
  TraceTotals totals;
  Finder finder(totals);
  const std::uint64_t instant_ns = instant.what == time ? instant.at_ns : UINT64_MAX;
  std::optional<TraceSegments> segments(std::in_place, trace, instant_ns);
  bool is_known = instant.what == end || instant.what == time;
  TraceFollower::Observers observers{&totals, &finder};
  if (is_known) observers.push_back(&*segments);
  if (!trace.follow(observers)) return std::nullopt;
  totals.finish();
  if (instant.what == time && trace.has_moved_begin()) {
    is_known = false;
    segments.emplace(trace, instant_ns);
  }
  const Found found = finder.find(instant);
  if (!has_instant(trace, instant, found, filter)) return std::nullopt;
  if (!is_known && !trace.follow({&*segments}, found.events)) return std::nullopt;
  segments->end_at(end_of(instant, trace, *segments));
  TraceMap map{.report = report_of_trace(trace, totals), .moment = {}};
  if (!filter.is_empty()) {
    map.report.chosen = Chosen{.by_rows = filter.chooses_rows() || filter.has_times()};
  }
  if (segments->by_pytorch()) map.report.process.options = {{"policy", "pytorch"}};
  segments->put_into(map.report);
  map.moment = {.text = instant.what == time ? instant.text : found.text,
                .at_ns = time_of(instant, trace, found, *segments),
                .peak_of = found.peak_of,
                .is_of_trace = true,
                .are_inferred = segments->are_inferred()};
  if (instant.what == oom) {
    map.moment.refused = finder.refused();
    map.moment.refusals = finder.refused().number;
  }
  return map;
}

}  // namespace vramscope
