// Adds the timelines of processes, which have buckets of different beginnings and widths.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/usage_bounds.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/report/trigger.h"

namespace vramscope {
namespace {

using Instant = std::uint64_t;
using Still = UsageBounds::Still;

std::uint64_t before(Instant at, std::uint64_t by) { return at - std::min(at, by); }

// Calls see(which, step) for all steps by time; of one instant what was freed goes first. Each
// process's steps stay in their order.
template <class See>
void walk(const std::vector<const HeldSteps*>& all, See see) {
  using Next = std::tuple<Instant, bool, std::size_t>;  // when, memory came, whose
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  std::vector<std::size_t> next(all.size());
  std::vector<std::uint64_t> now(all.size());
  const auto push = [&](std::size_t which) {
    if (next[which] == all[which]->size()) return;
    const HeldStep& step = (*all[which])[next[which]];
    queue.emplace(step.at_ns, step.bytes > now[which], which);
  };
  for (std::size_t i = 0; i < all.size(); ++i) push(i);
  std::uint64_t sum = 0;
  while (!queue.empty()) {
    const std::size_t which = std::get<2>(queue.top());
    queue.pop();
    const HeldStep& step = (*all[which])[next[which]++];
    sum += step.bytes - std::exchange(now[which], step.bytes);
    see(HeldStep{.at_ns = step.at_ns, .bytes = sum});
    push(which);
  }
}

HeldSteps sum_of(const std::vector<const HeldSteps*>& all) {
  HeldSteps sum;
  walk(all, [&](const HeldStep& step) {
    if (!sum.empty() && sum.back().at_ns == step.at_ns) sum.pop_back();
    sum.push_back(step);
  });
  return sum;
}

std::uint64_t peak_of_sum(const std::vector<const HeldSteps*>& all) {
  std::uint64_t most = 0;
  walk(all, [&](const HeldStep& step) { most = std::max(most, step.bytes); });
  return most;
}

HeldSteps steps_of(const std::vector<Still>& still) {
  std::vector<HeldSteps> each;
  std::vector<const HeldSteps*> all;
  for (const Still& one : still) {
    if (one.since_ns < one.end_ns)
      each.push_back({{.at_ns = one.since_ns, .bytes = one.bytes}, {.at_ns = one.end_ns}});
  }
  for (const HeldSteps& one : each) all.push_back(&one);
  return sum_of(all);
}

std::uint64_t bytes_at(const HeldSteps& steps, Instant at) {
  const auto next =
      std::upper_bound(steps.begin(), steps.end(), at,
                       [](Instant when, const HeldStep& step) { return when < step.at_ns; });
  return next == steps.begin() ? 0 : std::prev(next)->bytes;
}

const TimelineSeries* series_of(const MergedProcess& process, const KindFacts& kind) {
  for (const TimelineSeries& series : process.timeline.series) {
    if (series.kind == kind.kind && series.device == kind.device && series.bucket_ns != 0) {
      return &series;
    }
  }
  return nullptr;
}

// When its buckets say no more. The last one may be longer than what was left of the process.
Instant end_of_buckets(const MergedProcess& process, const TimelineSeries& series) {
  const TimelineFacts& timeline = process.timeline;
  const std::uint64_t ns = series.last.size() * series.bucket_ns;
  if (ns == 0) return timeline.start_ns;
  const std::uint64_t least = ns - series.bucket_ns + 1;  // what it held lasted for an instant
  return timeline.start_ns + std::clamp(timeline.duration_ns, least, ns);
}

HeldSteps at_most_of(const MergedProcess& process, const TimelineSeries& series,
                     const Still& still) {
  const Instant start = process.timeline.start_ns;
  HeldSteps at_most;
  for (std::size_t i = 0; i < series.highest.size(); ++i) {
    at_most.push_back({.at_ns = start + i * series.bucket_ns, .bytes = series.highest[i]});
  }
  at_most.push_back({.at_ns = still.since_ns, .bytes = still.bytes});
  const Instant end = start + process.timeline.duration_ns;
  if (is_end_known(process)) at_most.push_back({.at_ns = std::max(end, still.since_ns)});
  return at_most;
}

Still still_of(const MergedProcess& process, const TimelineSeries& series) {
  const Instant start = process.timeline.start_ns;
  const Instant end = start + process.timeline.duration_ns;
  // Nobody notes the end of one that was killed at once.
  const Instant seen =
      trigger_of(process.trigger) == Trigger::recovered ? process.process.report_time_ns : end;
  Still still;
  still.since_ns = end_of_buckets(process, series);
  still.end_ns = std::max(std::min(end, seen), still.since_ns);
  still.bytes = series.last.empty() ? 0 : series.last.back();
  return still;
}

// At the ends of buckets and at the peak, which may be at one of them.
std::map<Instant, std::uint64_t> exactly_of(const MergedProcess& process,
                                            const TimelineSeries& series, const KindFacts& kind) {
  const Instant start = process.timeline.start_ns;
  std::map<Instant, std::uint64_t> exactly;
  const Instant still_since = end_of_buckets(process, series);
  for (std::size_t i = 0; i + 1 < series.last.size(); ++i) {
    exactly[start + (i + 1) * series.bucket_ns] = series.last[i];
  }
  if (start + kind.peak_ns < still_since) {
    std::uint64_t& then = exactly[start + kind.peak_ns];
    then = std::max(then, kind.peak_bytes);
  }
  return exactly;
}

// What is sure to have been still then, whatever is wrong with the process's dates.
std::vector<Still> narrowed(const UsageBounds& bounds, std::uint64_t after, std::uint64_t ahead) {
  std::vector<Still> narrow = bounds.still;
  for (Still& one : narrow) {
    one.since_ns += after + bounds.drift_ns;
    one.end_ns = before(one.end_ns, ahead + bounds.drift_ns);
  }
  return narrow;
}

// The most that it can have held at an instant, whatever is wrong with the process's dates.
HeldSteps widened(const UsageBounds& bounds) {
  const HeldSteps& steps = bounds.at_most;
  using Change = std::tuple<Instant, bool, std::uint64_t>;  // when, it begins, how much
  std::vector<Change> changes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    changes.emplace_back(before(steps[i].at_ns, kLate + bounds.drift_ns), true, steps[i].bytes);
    if (i + 1 < steps.size())
      changes.emplace_back(steps[i + 1].at_ns + kEarly + bounds.drift_ns, false, steps[i].bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::multiset<std::uint64_t> open;
  HeldSteps wide;
  for (const auto& [at, begins, bytes] : changes) {
    if (begins) {
      open.insert(bytes);
    } else if (const auto found = open.find(bytes); found != open.end()) {
      open.erase(found);
    }
    wide.push_back({.at_ns = at, .bytes = open.empty() ? 0 : *open.rbegin()});
  }
  return wide;
}

std::uint64_t upper_bound(const std::vector<UsageBounds>& bounded,
                          std::vector<const HeldSteps*> all) {
  const bool are_several = bounded.size() + all.size() > 1;
  std::vector<HeldSteps> wide;
  std::uint64_t without_timeline = 0;
  for (const UsageBounds& one : bounded) {
    wide.push_back(are_several ? widened(one) : one.at_most);
    without_timeline += one.without_timeline;
  }
  for (const HeldSteps& one : wide) all.push_back(&one);
  return peak_of_sum(all) + without_timeline;
}

// At an instant at which one is known the others count if they did not change around it.
std::uint64_t highest_known(const std::vector<UsageBounds>& bounded) {
  std::uint64_t drift_ns = 0;
  for (const UsageBounds& one : bounded) drift_ns = std::max(drift_ns, one.drift_ns);
  const std::uint64_t apart = bounded.size() > 1 ? kEarly + kLate + drift_ns : 0;
  std::vector<Still> every;
  for (const UsageBounds& one : bounded) {
    const std::vector<Still> narrow = narrowed(one, apart, apart);
    every.insert(every.end(), narrow.begin(), narrow.end());
  }
  const HeldSteps staying = steps_of(every);
  std::uint64_t most = 0;
  for (const UsageBounds& one : bounded) {
    const HeldSteps own = steps_of(narrowed(one, apart, apart));
    for (const HeldStep& step : one.at_least) {
      const std::uint64_t others = bytes_at(staying, step.at_ns) - bytes_at(own, step.at_ns);
      most = std::max(most, step.bytes + others);
    }
  }
  return most;
}

std::uint64_t lower_bound(const std::vector<UsageBounds>& bounded,
                          std::vector<const HeldSteps*> all) {
  const bool are_several = bounded.size() + all.size() > 1;
  std::vector<HeldSteps> staying;
  for (const UsageBounds& one : bounded) {
    staying.push_back(steps_of(are_several ? narrowed(one, kEarly, kLate) : one.still));
  }
  for (const HeldSteps& one : staying) all.push_back(&one);
  return std::max(peak_of_sum(all), highest_known(bounded));
}

}  // namespace

UsageBounds usage_bounds(const MergedProcess& process, const WantsKind& wants) {
  constexpr std::uint64_t kOneIn = 50'000;  // now_ns() is a clock to one part in 100,000
  UsageBounds bounds;
  bounds.drift_ns = process.timeline.duration_ns / kOneIn;
  std::vector<HeldSteps> each;
  std::map<Instant, std::uint64_t> exactly;
  for (const KindFacts& kind : process.kinds) {
    if (!wants(kind)) continue;
    const TimelineSeries* const series = series_of(process, kind);
    if (series == nullptr) {
      bounds.without_timeline += kind.peak_bytes;
      continue;
    }
    bounds.still.push_back(still_of(process, *series));
    each.push_back(at_most_of(process, *series, bounds.still.back()));
    for (const auto& [at, bytes] : exactly_of(process, *series, kind)) exactly[at] += bytes;
  }
  std::vector<const HeldSteps*> all;
  for (const HeldSteps& one : each) all.push_back(&one);
  bounds.at_most = sum_of(all);
  const HeldSteps staying = steps_of(bounds.still);
  for (const HeldStep& step : staying) exactly.try_emplace(step.at_ns, 0);
  for (const auto& [at, bytes] : exactly) {
    bounds.at_least.push_back({.at_ns = at, .bytes = bytes + bytes_at(staying, at)});
  }
  return bounds;
}

PeakBounds sum_bounds(const std::vector<UsageBounds>& bounded,
                      const std::vector<const HeldSteps*>& traced) {
  PeakBounds bounds;
  bounds.upper = upper_bound(bounded, traced);
  bounds.lower = std::min(lower_bound(bounded, traced), bounds.upper);
  return bounds;
}

}  // namespace vramscope
