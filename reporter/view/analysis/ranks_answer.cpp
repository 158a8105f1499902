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

std::uint64_t began_first(const Reports& reports) {
  std::uint64_t began_ns = UINT64_MAX;
  for (const ReportOfProcess& one : reports)
    began_ns = std::min(began_ns, one.process.timeline.start_ns);
  return began_ns;
}

// The earliest first, of those at one instant the highest.
std::vector<TimedPeak> timed_peaks(const Reports& reports, RankClock clock) {
  const std::uint64_t began_ns = began_first(reports);
  std::vector<TimedPeak> peaks;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    std::optional<PeakTime> time = peak_time(reports[i]);
    if (!time) continue;
    const std::uint64_t start_ns = reports[i].process.timeline.start_ns;
    const std::uint64_t later = clock == RankClock::wall ? start_ns - began_ns : 0;
    peaks.push_back({.which = i, .time = {time->from_ns + later, time->until_ns + later}});
  }
  std::ranges::stable_sort(peaks, [&](const TimedPeak& a, const TimedPeak& b) {
    if (a.time.until_ns != b.time.until_ns) return a.time.until_ns < b.time.until_ns;
    return peak_bounds(reports[a.which]).upper > peak_bounds(reports[b.which]).upper;
  });
  return peaks;
}

std::uint64_t median_of(const std::vector<TimedPeak>& peaks, std::uint64_t PeakTime::*bound) {
  std::vector<std::uint64_t> times;
  for (const TimedPeak& peak : peaks) times.push_back(peak.time.*bound);
  std::ranges::sort(times);
  return middle_of(times[(times.size() - 1) / 2], times[times.size() / 2]);
}

NoFirstPeak reason_for_none(const Reports& reports, const std::vector<TimedPeak>& peaks) {
  if (reports.front().is_of_host) return NoFirstPeak::host;
  if (peaks.size() < 2) return NoFirstPeak::unknown;
  const PeakTime& first = peaks.front().time;
  const bool is_told = std::all_of(peaks.begin() + 1, peaks.end(), [&](const TimedPeak& other) {
    return other.time.from_ns >= first.until_ns;
  });
  return is_told ? NoFirstPeak::none : NoFirstPeak::overlap;
}

FirstPeak first_peak(const Reports& reports, const RanksAnswer& answer, const RunsNaming& naming) {
  const std::vector<TimedPeak>& peaks = answer.peaks;
  const Spread spread = spread_of(reports, peak_figure());
  FirstPeak first{
      .which = peaks.front().which,
      .clock = answer.clock,
      .time = peaks.front().time,
      .bytes = peak_bounds(reports[peaks.front().which]),
      .median_in = spread.median_in,
      .median = {median_of(peaks, &PeakTime::from_ns), median_of(peaks, &PeakTime::until_ns)},
      .compared = peaks.size()};
  if (first.which == spread.median_in || first.time.until_ns >= first.median.until_ns) return first;
  const Outlier outlier{.which = first.which, .number = first.bytes.upper, .is_above = true};
  first.sites = sites_behind(reports, spread, outlier, /*is_of_host=*/false, naming);
  return first;
}

using Named = std::vector<NamedBytes> RankFacts::*;

// Of what at least `least` processes have; it counts as 0 in others.
std::vector<NamedSpread> spreads(const Reports& reports, Named named, NamedSpread::What what,
                                 std::size_t least) {
  std::map<std::string, std::map<std::size_t, const NamedBytes*>> by_name;  // by process
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const NamedBytes& one : reports[i].facts.*named) by_name[one.name][i] = &one;
  }
  std::vector<NamedSpread> all;
  for (const auto& [name, found] : by_name) {
    if (found.size() < least) continue;
    std::vector<std::uint64_t> numbers(reports.size());
    NamedSpread one{.what = what, .name = name, .spread = {}, .processes = found.size()};
    for (const auto& [which, of_it] : found) {
      numbers[which] = of_it->bytes;
      one.from = of_it->from;
      if (of_it->from == BytesFrom::trace) ++one.traced;
    }
    if (one.traced != 0 && one.traced != one.processes) one.from = BytesFrom::mixed;
    one.spread = spread_of(reports, numbers);
    all.push_back(std::move(one));
  }
  return all;
}

std::uint64_t width(const NamedSpread& one) { return one.spread.most - one.spread.least; }

}  // namespace

RanksAnswer ranks_answer(const Reports& reports, const RunsNaming& naming) {
  using enum NamedSpread::What;
  if (!are_of_one_program(reports))
    return {.no_first_peak = reports.size() < 2 ? NoFirstPeak::few : NoFirstPeak::programs};
  RanksAnswer answer{.clock = common_clock(reports)};
  answer.peaks = timed_peaks(reports, answer.clock);
  answer.no_first_peak = reason_for_none(reports, answer.peaks);
  if (answer.no_first_peak == NoFirstPeak::none)
    answer.first_peak = first_peak(reports, answer, naming);
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
