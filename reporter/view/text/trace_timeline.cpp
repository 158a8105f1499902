// Adds a trace's events up in buckets of a window.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/trace_timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/ground/axes.h"
#include "reporter/view/analysis/peaks/joint_peaks.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_totals.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kBuckets = 2048;  // more than a terminal has columns

// The bytes of one kind on one device. Buckets that nothing happened in are filled when the next
// change comes.
class Curve {
 public:
  explicit Curve(RunCurve& curve) : curve_(curve) {}

  void change(std::uint64_t at, std::uint64_t bytes, bool came) {
    advance(at);
    now_ = came ? now_ + bytes : now_ - std::min(bytes, now_);
    if (at < curve_.first_ns || curve_.highest.empty()) return;
    curve_.highest.back() = std::max(curve_.highest.back(), now_);
    curve_.last.back() = now_;
  }
  // Nothing changed until `at`.
  void advance(std::uint64_t at) {
    if (at < curve_.first_ns) return;
    const std::uint64_t wanted = (at - curve_.first_ns) / curve_.bucket_ns + 1;
    while (curve_.highest.size() < wanted && curve_.highest.size() < kBuckets) {
      curve_.highest.push_back(now_);
      curve_.last.push_back(now_);
    }
  }

 private:
  RunCurve& curve_;
  std::uint64_t now_ = 0;
};

// Whether an allocation is of the last span of its range: no other allocation of the thread was
// made in another range since.
struct OpenSpan {
  std::uint32_t range = 0;
  std::size_t span = 0;  // of RunRange::spans
};

class Collector : private TraceMemory::Changes {
 public:
  Collector(RunTimeline& timeline, const TraceNames& names, const TraceFilter& filter,
            std::uint64_t first_ns, std::set<std::uint16_t> has_several)
      : timeline_(timeline),
        names_(names),
        filter_(filter),
        first_ns_(first_ns),
        has_several_(std::move(has_several)) {}

  // Times never go back, also where threads overlapped.
  void add(const TraceEvent& one) {
    const Event& event = one.event;
    now_ = std::max(now_, after(first_ns_, event.start_ns));
    if (now_ > timeline_.to_ns) return;
    const bool allocates =
        is_allocating(event.effect) && filter_.passes(event.tag, event.place, event.bytes);
    if (event.failed && allocates) add_mark(RunMark::What::refused, event);
    if (one.what == trace::What::place_ended) add_mark(RunMark::What::reset, event);
    if (allocates && !event.failed && now_ >= timeline_.from_ns) add_to_range(one);
    memory_.add(one, *this);
  }

  void finish() {
    for (auto& [which, curve] : curves_) curve.advance(timeline_.to_ns);
    for (auto& [which, curve] : made_) {
      if (!curve.is_of_all_kinds || has_several_.contains(curve.device))
        timeline_.curves.push_back(std::move(curve));
    }
    for (auto& [number, range] : ranges_) timeline_.ranges.push_back(std::move(range));
    std::stable_sort(
        timeline_.ranges.begin(), timeline_.ranges.end(),
        [](const RunRange& a, const RunRange& b) { return a.spans.front() < b.spans.front(); });
  }

 private:
  [[nodiscard]] bool passes(const TraceBlock& block) const {
    return filter_.passes(block.tag, block.place, block.bytes);
  }
  void came(const TraceBlock& block, const Event&) override { change(block, true); }
  void went(const TraceBlock& block, TraceMemory::End) override { change(block, false); }

  void change(const TraceBlock& block, bool came) {
    if (!passes(block)) return;
    const auto [kind, device] = place_of(block.place);
    curve_of({.kind = kind, .device = device}).change(now_, block.bytes, came);
    if (!takes_device_memory(kind)) return;
    curve_of({.device = device, .is_of_all_kinds = true}).change(now_, block.bytes, came);
  }

  Curve& curve_of(const RunCurve& wanted) {
    const Which which{wanted.is_of_all_kinds, wanted.kind, wanted.device};
    const auto found = curves_.find(which);
    if (found != curves_.end()) return found->second;
    RunCurve& made = made_[which] = wanted;
    made.first_ns = timeline_.from_ns;
    made.bucket_ns = (timeline_.to_ns - timeline_.from_ns) / (kBuckets - 1) + 1;
    return curves_.emplace(which, Curve(made)).first->second;
  }

  void add_mark(RunMark::What what, const Event& event) {
    const bool known = event.function < names_.functions.size();
    timeline_.marks.push_back({.what = what,
                               .at_ns = now_,
                               .kind = event.place.kind,
                               .device = event.place.device,
                               .bytes = what == RunMark::What::refused ? event.bytes : 0,
                               .text = known ? names_.functions[event.function] : ""});
  }

  void add_to_range(const TraceEvent& one) {
    const std::uint32_t range = range_of(one.event.tag);
    OpenSpan& open = open_[one.thread];
    if (range == 0 || range >= names_.facts.ranges.size()) {
      open = {};
      return;
    }
    RunRange& found = ranges_[range];
    if (found.name.empty()) found.name = path_of(range);
    if (open.range != range) {
      open = {.range = range, .span = found.spans.size()};
      found.spans.emplace_back(now_, now_);
    }
    found.spans[open.span].second = now_;
  }

  [[nodiscard]] std::uint32_t range_of(Tag tag) const {
    if (tag >= names_.facts.tags.size()) return 0;
    return names_.facts.tags[tag].values[static_cast<std::size_t>(Axis::range)];
  }

  // Outermost first. A damaged trace may have ranges whose parents come round again.
  [[nodiscard]] std::string path_of(std::uint32_t range) const {
    constexpr std::size_t kDeepest = 32;
    std::string path;
    for (std::size_t i = 0; range != 0 && range < names_.facts.ranges.size() && i < kDeepest; ++i) {
      const RangeFact& fact = names_.facts.ranges[range];
      const std::string name = fact.domain.empty() ? fact.name : fact.domain + ":" + fact.name;
      path = path.empty() ? name : name + "/" + path;
      range = fact.parent;
    }
    return path;
  }

  RunTimeline& timeline_;
  const TraceNames& names_;
  const TraceFilter& filter_;
  const std::uint64_t first_ns_;
  std::uint64_t now_ = 0;
  TraceMemory memory_;
  using Which = std::tuple<bool, Kind, std::uint16_t>;  // whether of all kinds; kind and device
  const std::set<std::uint16_t> has_several_;           // kinds of memory, of these devices
  std::map<Which, RunCurve> made_;
  std::map<Which, Curve> curves_;
  std::map<std::uint32_t, RunRange> ranges_;
  std::map<std::uint32_t, OpenSpan> open_;  // by thread
};

void add_peaks(const TraceTotals& totals, const std::vector<KindTotals>& joint,
               RunTimeline& timeline) {
  const auto add = [&](const KindTotals& of, bool is_of_all_kinds) {
    if (of.peak_bytes == 0) return;
    timeline.marks.push_back({.what = RunMark::What::peak,
                              .at_ns = after(totals.begin_ns, of.peak_ns),
                              .kind = of.kind,
                              .device = of.device,
                              .is_of_all_kinds = is_of_all_kinds,
                              .bytes = of.peak_bytes});
  };
  for (const KindTotals& all : joint) add(all, true);
  for (const auto& [where, kind] : totals.kinds) {
    add({.kind = where.first,
         .device = where.second,
         .peak_bytes = kind.held.peak_bytes,
         .peak_ns = kind.peak_ns},
        false);
  }
}

}  // namespace

TraceTimeline trace_timeline(TraceReader& reader, const TimelineChoice& choice, Filter filter,
                             const NameFrame& name) {
  TraceTimeline result;
  RunTimeline& timeline = result.timeline;
  result.missing = missing_from(reader.names(), filter);
  if (!result.missing.empty()) return result;
  filter.from = filter.to = "";
  const TraceFilter those = trace_filter(reader.names(), filter, name);
  JointPeaks joint;
  TraceTotals totals(those, &joint);
  const auto order = TraceReader::Order::by_change;
  bool good = reader.read(order, [&](const TraceEvent& event) { totals.add(event); });
  result.missing = missing_from(totals);
  const TraceProcess& process = reader.names().process;
  timeline.is_of_trace = true;
  timeline.start_ns = process.wall_ns + (totals.begin_ns - process.clock_ns);
  timeline.length_ns = totals.end_ns - totals.begin_ns;
  choose(timeline, choice);  // the window
  std::set<std::uint16_t> has_several;
  for (const KindTotals& all : joint.totals()) has_several.insert(all.device);
  Collector collector(timeline, reader.names(), those, totals.begin_ns, std::move(has_several));
  if (!result.missing.empty()) return result;
  good = good && reader.read(order, [&](const TraceEvent& event) { collector.add(event); });
  if (!good) {
    result.problem = reader.problem();
    return result;
  }
  collector.finish();
  add_peaks(totals, joint.totals(), timeline);
  timeline.named = marks_of_trace(reader.names(), totals.begin_ns);
  choose(timeline, choice);
  put_ranges_of_peak_first(timeline);
  return result;
}

}  // namespace vramscope
