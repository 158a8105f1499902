// Adds up the timelines of a process, bucket by bucket.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/peak_time.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

std::optional<std::uint64_t> instant_of(const ReportOfProcess& one, std::uint64_t peak) {
  if (one.traced_peak) return one.traced_peak->at_ns;
  for (const JointPeak& joint : one.process.joint_peaks) {
    if (joint.facts.peak_bytes == peak) return joint.facts.peak_ns;
  }
  for (const KindFacts& kind : one.process.kinds) {
    const bool is_all = takes_device_memory(kind.kind) && kind.peak_bytes == peak;
    if (is_all && kind.peak_ns != 0) return kind.peak_ns;
  }
  return std::nullopt;
}

const TimelineSeries* its_series(const MergedProcess& process, const KindFacts& kind) {
  const auto found = std::ranges::find_if(process.timeline.series, [&](const auto& series) {
    return series.kind == kind.kind && series.device == kind.device && series.bucket_ns != 0 &&
           !series.highest.empty();
  });
  return found == process.timeline.series.end() ? nullptr : &*found;
}

// After the last bucket nothing changed.
std::uint64_t most_in(const TimelineSeries& series, std::uint64_t at_ns) {
  const std::uint64_t bucket = at_ns / series.bucket_ns;
  if (bucket < series.highest.size()) return series.highest[bucket];
  return series.last.empty() ? series.highest.back() : series.last.back();
}

}  // namespace

std::optional<PeakTime> peak_time(const ReportOfProcess& one) {
  const PeakBounds peak = peak_bounds(one);
  if (one.is_of_host || peak.upper == 0) return std::nullopt;
  if (const std::optional<std::uint64_t> at_ns = instant_of(one, peak.upper))
    return PeakTime{.from_ns = *at_ns, .until_ns = *at_ns};
  std::vector<const TimelineSeries*> all;
  std::set<std::uint64_t> begins;  // of buckets of any of them
  std::uint64_t untimed = 0;       // peaks of kinds that may have been at any time
  for (const KindFacts& kind : one.process.kinds) {
    if (!takes_device_memory(kind.kind) || kind.peak_bytes == 0) continue;
    const TimelineSeries* const series = its_series(one.process, kind);
    if (series == nullptr) {
      untimed += kind.peak_bytes;
      continue;
    }
    all.push_back(series);
    for (std::size_t i = 0; i <= series->highest.size(); ++i) begins.insert(i * series->bucket_ns);
  }
  std::optional<PeakTime> time;
  for (auto begin = begins.begin(); begin != begins.end(); ++begin) {
    std::uint64_t most = untimed;
    for (const TimelineSeries* const series : all) most += most_in(*series, *begin);
    if (most < peak.lower) continue;
    const bool is_last = std::next(begin) == begins.end();
    if (!time) time = PeakTime{.from_ns = *begin};
    time->until_ns =
        is_last ? std::max(*begin, one.process.timeline.duration_ns) : *std::next(begin);
  }
  return time;
}

}  // namespace vramscope
