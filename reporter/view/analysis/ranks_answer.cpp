// Compares processes by times of peaks, by steps and by libraries.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/ranks_answer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reporter/view/analysis/process_differences.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

bool are_comparable(const Reports& reports) {
  return reports.size() > 1 && std::ranges::all_of(reports, [&](const ReportOfProcess& one) {
           return one.process.process.executable == reports.front().process.process.executable;
         });
}

// When it held most, if that is known exactly: the peak of its one kind, or of all kinds together.
std::optional<std::uint64_t> peak_time(const ReportOfProcess& one) {
  const std::uint64_t peak = peak_bounds(one).upper;
  if (one.is_of_host || peak == 0) return std::nullopt;
  for (const JointPeak& joint : one.process.joint_peaks) {
    if (joint.facts.peak_bytes == peak) return joint.facts.peak_ns;
  }
  for (const KindFacts& kind : one.process.kinds) {
    const bool is_all = takes_device_memory(kind.kind) && kind.peak_bytes == peak;
    if (is_all && kind.peak_ns != 0) return kind.peak_ns;
  }
  return std::nullopt;
}

std::optional<FirstPeak> first_peak(const Reports& reports, const RunsNaming& naming) {
  FirstPeak first{.clock = common_clock(reports)};
  std::uint64_t began_ns = UINT64_MAX;
  for (const ReportOfProcess& one : reports)
    began_ns = std::min(began_ns, one.process.timeline.start_ns);
  std::vector<std::pair<std::uint64_t, std::size_t>> times;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::optional<std::uint64_t> at_ns = peak_time(reports[i]);
    if (!at_ns) return std::nullopt;
    const bool is_wall = first.clock == RankClock::wall;
    times.emplace_back(*at_ns + (is_wall ? reports[i].process.timeline.start_ns - began_ns : 0), i);
  }
  std::ranges::stable_sort(times, [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return peak_bounds(reports[a.second]).upper > peak_bounds(reports[b.second]).upper;
  });
  const Spread spread = spread_of(reports, peak_figure());
  first.which = times.front().second;
  first.at_ns = times.front().first;
  first.bytes = peak_bounds(reports[first.which]).upper;
  first.median_in = spread.median_in;
  first.median_ns = middle_of(times[(times.size() - 1) / 2].first, times[times.size() / 2].first);
  if (first.which == spread.median_in || first.at_ns == first.median_ns) return first;
  first.sites =
      sites_behind(reports, spread, {.which = first.which, .number = first.bytes, .is_above = true},
                   /*is_of_host=*/false, naming);
  return first;
}

using Named = std::vector<NamedBytes> RankFacts::*;

// Of what at least `least` processes have; it counts as 0 in others.
std::vector<NamedSpread> spreads(const Reports& reports, Named named, NamedSpread::What what,
                                 std::size_t least) {
  std::map<std::string, std::map<std::size_t, std::uint64_t>> by_name;  // by process
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const NamedBytes& one : reports[i].facts.*named) by_name[one.name][i] = one.bytes;
  }
  std::vector<NamedSpread> all;
  for (const auto& [name, bytes] : by_name) {
    if (bytes.size() < least) continue;
    std::vector<std::uint64_t> numbers(reports.size());
    for (const auto& [which, number] : bytes) numbers[which] = number;
    all.push_back({.what = what,
                   .name = name,
                   .spread = spread_of(reports, numbers),
                   .processes = bytes.size()});
  }
  return all;
}

std::uint64_t width(const NamedSpread& one) { return one.spread.most - one.spread.least; }

}  // namespace

RanksAnswer ranks_answer(const Reports& reports, const RunsNaming& naming) {
  using enum NamedSpread::What;
  if (!are_comparable(reports)) return {};
  RanksAnswer answer{.first_peak = first_peak(reports, naming)};
  answer.steps = spreads(reports, &RankFacts::marks, mark, reports.size());
  for (NamedSpread& one : spreads(reports, &RankFacts::ranges, range, reports.size()))
    answer.steps.push_back(std::move(one));
  std::ranges::stable_sort(answer.steps, std::ranges::greater(), width);
  answer.libraries = spreads(reports, &RankFacts::libraries, library, 1);
  std::ranges::stable_sort(answer.libraries, std::ranges::greater(),
                           [](const NamedSpread& one) { return one.spread.most; });
  return answer;
}

}  // namespace vramscope
