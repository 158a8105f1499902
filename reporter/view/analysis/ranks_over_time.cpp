// Samples each process's curves in equal steps, and compares the processes step by step.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/ranks_over_time.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "reporter/view/analysis/replay/traced_curve.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

constexpr std::size_t kLeastRanks = 3;                        // of which a median tells
constexpr std::uint64_t kLongestNs = std::uint64_t{1} << 61;  // of what a report may say

// Of one process; times are since its start.
struct Sampled {
  std::size_t which = 0;
  std::vector<RunCurve> curves = {};
  std::uint64_t start_ns = 0;  // on the common axis
  std::uint64_t length_ns = 0;
  bool is_exact = false;

  [[nodiscard]] std::uint64_t end_ns() const { return start_ns + length_ns; }
  [[nodiscard]] std::uint64_t highest_between(std::uint64_t from_ns, std::uint64_t to_ns) const {
    std::uint64_t sum = 0;
    for (const RunCurve& curve : curves) sum += curve.highest_between(from_ns, to_ns);
    return sum;
  }
};

bool counts(const ReportOfProcess& one, Kind kind) {
  return holds_memory(kind) && takes_device_memory(kind) != one.is_of_host;
}

std::uint64_t length_of(const TimelineFacts& timeline) {
  std::uint64_t length = timeline.duration_ns;
  for (const TimelineSeries& series : timeline.series) {
    if (length == 0) length = series.bucket_ns * series.highest.size();
  }
  return length;
}

Sampled sampled(const Reports& reports, std::size_t which) {
  const ReportOfProcess& one = reports[which];
  Sampled found{.which = which, .length_ns = std::min(kLongestNs, length_of(one.process.timeline))};
  for (const TimelineSeries& series : one.process.timeline.series) {
    const bool is_empty =
        std::ranges::all_of(series.highest, [](auto bytes) { return bytes == 0; });
    if (!counts(one, series.kind) || is_empty) continue;
    found.curves.push_back({.kind = series.kind,
                            .device = series.device,
                            .bucket_ns = series.bucket_ns,
                            .highest = series.highest,
                            .last = series.last});
  }
  found.is_exact = found.curves.size() < 2;
  if (found.is_exact) return found;
  if (std::optional<RunCurve> exact = traced_curve(one)) {
    found.curves = {std::move(*exact)};
    found.is_exact = true;
  }
  return found;
}

// Whether it has memory of which no timeline tells.
bool is_untimed(const ReportOfProcess& one, const Sampled& curves) {
  return curves.curves.empty() &&
         std::ranges::any_of(one.process.kinds, [&](const KindFacts& kind) {
           return counts(one, kind.kind) && kind.peak_bytes != 0;
         });
}

std::uint64_t start_of(const Reports& reports, const Sampled& one) {
  return reports[one.which].process.timeline.start_ns;
}

void place_on_axis(const Reports& reports, RanksOverTime& over, std::vector<Sampled>& all) {
  const auto is_unknown = [&](const Sampled& one) { return start_of(reports, one) == 0; };
  if (std::ranges::any_of(all, is_unknown)) over.clock = RankClock::start;
  if (over.clock == RankClock::automatic) over.clock = common_clock(reports);
  const bool is_wall = over.clock == RankClock::wall;
  if (is_wall) over.start_ns = UINT64_MAX;
  for (const Sampled& one : all)
    over.start_ns = std::min(over.start_ns, is_wall ? start_of(reports, one) : 0);
  for (Sampled& one : all) {
    if (is_wall) one.start_ns = std::min(kLongestNs, start_of(reports, one) - over.start_ns);
    over.length_ns = std::max(over.length_ns, one.end_ns());
  }
}

RankCurve curve_of(const Sampled& one, const RanksOverTime& over, std::uint64_t bound) {
  RankCurve curve{.which = one.which,
                  .first_ns = one.start_ns,
                  .end_ns = one.end_ns(),
                  .is_exact = one.is_exact};
  const auto step_of = [&](std::uint64_t at_ns) {
    return (std::max(at_ns, over.from_ns) - over.from_ns) / over.step_ns;
  };
  curve.first = std::min<std::size_t>(step_of(one.start_ns), over.steps.size());
  const std::size_t last = step_of(std::max(one.end_ns(), one.start_ns + 1) - 1) + 1;
  const bool is_before = one.end_ns() < over.from_ns;
  curve.end = is_before ? curve.first : std::clamp(last, curve.first, over.steps.size());
  for (std::size_t i = curve.first; i < curve.end; ++i) {
    const std::uint64_t from_ns = over.steps[i].from_ns;
    const std::uint64_t its_from = std::max(from_ns, one.start_ns) - one.start_ns;
    const std::uint64_t its_to = std::max(from_ns + over.step_ns - one.start_ns, its_from + 1);
    const std::uint64_t bytes = std::min(bound, one.highest_between(its_from, its_to));
    if (bytes > curve.peak_bytes) curve.peak_ns = from_ns;
    curve.peak_bytes = std::max(curve.peak_bytes, bytes);
    curve.highest.push_back(bytes);
  }
  return curve;
}

// Where one kind of memory alone had it, the report knows the instant.
void set_peak(const MergedProcess& process, const Sampled& one, RankCurve& curve) {
  if (one.curves.size() != 1) return;
  const auto set = [&](std::uint64_t bytes, std::uint64_t at_ns) {
    if (bytes == curve.peak_bytes && bytes != 0) curve.peak_ns = one.start_ns + at_ns;
  };
  const RunCurve& only = one.curves.front();
  for (const KindFacts& kind : process.kinds) {
    if (kind.kind == only.kind && kind.device == only.device) set(kind.peak_bytes, kind.peak_ns);
  }
  for (const JointPeak& joint : process.joint_peaks) {
    if (joint.facts.device == only.device && only.is_of_all_kinds)
      set(joint.facts.peak_bytes, joint.facts.peak_ns);
  }
}

std::uint64_t median_of(const std::vector<std::uint64_t>& sorted) {
  return middle_of(sorted[(sorted.size() - 1) / 2], sorted[sorted.size() / 2]);
}

// Values of those that ran in a step, ascending.
std::vector<std::uint64_t> values_in(const RanksOverTime& over, std::size_t step) {
  std::vector<std::uint64_t> values;
  for (const RankCurve& one : over.ranks) {
    if (one.first <= step && step < one.end) values.push_back(one.highest[step - one.first]);
  }
  std::ranges::sort(values);
  return values;
}

// Sets the step. Gives how far half of the processes are from its median.
std::uint64_t set_step(RankStep& step, const std::vector<std::uint64_t>& values) {
  step.ranks = values.size();
  if (values.empty()) return 0;
  const auto share = [&](std::size_t tenths) {
    return values[(values.size() * tenths + 9) / 10 - 1];
  };
  step.least = values.front();
  step.low = share(1);
  step.median = median_of(values);
  step.high = share(9);
  step.most = values.back();
  std::vector<std::uint64_t> apart;
  for (const std::uint64_t bytes : values)
    apart.push_back(std::max(bytes, step.median) - std::min(bytes, step.median));
  std::ranges::sort(apart);
  return median_of(apart);
}

// How far a value is from the median nearby: a process may be a step before or behind the others.
std::pair<std::uint64_t, std::uint64_t> distance(const RanksOverTime& over, std::size_t step,
                                                 std::uint64_t bytes) {
  std::pair<std::uint64_t, std::uint64_t> nearest{UINT64_MAX, 0};  // and the median
  const std::size_t end = std::min(step + 2, over.steps.size());
  for (std::size_t i = step == 0 ? 0 : step - 1; i < end; ++i) {
    const std::uint64_t median = over.steps[i].median;
    if (over.steps[i].ranks < kLeastRanks) continue;
    nearest = std::min(nearest, {std::max(bytes, median) - std::min(bytes, median), median});
  }
  return nearest;
}

// least: how far from the median is far, in each step.
void set_distance(const RanksOverTime& over, const std::vector<std::uint64_t>& least,
                  RankCurve& one) {
  constexpr std::ptrdiff_t kLeastSteps = 2;  // fewer are how exactly the steps of processes agree
  one.is_far.assign(one.highest.size(), false);
  bool has_peak = false;
  for (std::size_t i = one.first; i < one.end; ++i) {
    if (over.steps[i].ranks < kLeastRanks) continue;
    const std::uint64_t bytes = one.highest[i - one.first];
    const auto [apart, median] = distance(over, i, bytes);
    if (apart < least[i]) continue;
    one.is_far[i - one.first] = true;
    has_peak = has_peak || bytes == one.peak_bytes;
    if (apart <= one.apart_bytes) continue;
    one.apart_bytes = apart;
    one.is_above = bytes > median;
    one.apart_ns = over.steps[i].from_ns;
    one.then_bytes = bytes;
    one.median_bytes = median;
  }
  if (std::ranges::count(one.is_far, true) >= kLeastSteps || has_peak) return;
  one.apart_bytes = 0;
  one.is_far.assign(one.highest.size(), false);
}

void compare(RanksOverTime& over) {
  constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;
  std::vector<std::uint64_t> least;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < over.steps.size(); ++i) {
    least.push_back(3 * set_step(over.steps[i], values_in(over, i)) + 1);
    highest = std::max(highest, over.steps[i].median);
  }
  for (std::uint64_t& bytes : least) bytes = std::max({bytes, kLeastBytes, highest / 10 + 1});
  for (RankCurve& one : over.ranks) set_distance(over, least, one);
  std::ranges::stable_sort(over.ranks, [](const RankCurve& a, const RankCurve& b) {
    return a.apart_bytes > b.apart_bytes;
  });
  over.far = static_cast<std::size_t>(
      std::ranges::count_if(over.ranks, [](const RankCurve& one) { return one.apart_bytes != 0; }));
}

}  // namespace

std::optional<RankClock> rank_clock_of(std::string_view name) {
  const auto found = std::ranges::find(kRankClockNames, name);
  if (found == kRankClockNames.end()) return std::nullopt;
  return static_cast<RankClock>(found - kRankClockNames.begin());
}

// They ran side by side, by clocks that agree.
RankClock common_clock(const Reports& reports) {
  constexpr std::uint64_t kMinuteNs = 60'000'000'000;
  std::map<std::string, std::uint64_t> began;  // by host
  std::uint64_t first = UINT64_MAX, last = 0, longest = 0;
  for (const ReportOfProcess& one : reports) {
    const std::uint64_t start = one.process.timeline.start_ns;
    if (start == 0) return RankClock::start;
    longest = std::max(longest, length_of(one.process.timeline));
    first = std::min(first, start);
    last = std::max(last, start);
    const auto [known, is_new] = began.try_emplace(one.process.process.hostname, start);
    known->second = std::min(known->second, start);
  }
  const bool hosts_agree = std::ranges::all_of(
      began, [&](const auto& host) { return host.second - first <= kMinuteNs; });
  return hosts_agree && last - first <= longest ? RankClock::wall : RankClock::start;
}

RanksOverTime ranks_over_time(const Reports& reports, const RanksChoice& choice) {
  RanksOverTime over{.clock = choice.clock,
                     .is_of_host = !reports.empty() && reports.front().is_of_host};
  std::vector<Sampled> all;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Sampled one = sampled(reports, i);
    is_untimed(reports[i], one) ? void(++over.untimed) : all.push_back(std::move(one));
  }
  if (all.empty()) return over;
  place_on_axis(reports, over, all);
  over.from_ns = std::min(2 * kLongestNs, choice.window.from_ns.value_or(0));
  over.to_ns = std::min(2 * kLongestNs, choice.window.to_ns.value_or(over.length_ns));
  over.to_ns = std::max(over.to_ns, over.from_ns + 1);
  over.step_ns = (over.to_ns - over.from_ns + choice.steps - 1) / choice.steps;
  for (std::uint64_t at = over.from_ns; at < over.to_ns; at += over.step_ns)
    over.steps.push_back({.from_ns = at});
  for (const Sampled& one : all) {
    RankCurve& curve =
        over.ranks.emplace_back(curve_of(one, over, peak_bounds(reports[one.which]).upper));
    set_peak(reports[one.which].process, one, curve);
  }
  compare(over);
  return over;
}

}  // namespace vramscope
