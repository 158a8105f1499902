// Compares what was held at a sample with what is held.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/sampled_free.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// What was held in the bucket of the sample, at most and at least.
struct HeldThen {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

HeldThen held_at(const TimelineSeries& series, std::uint64_t time_ns) {
  if (series.bucket_ns == 0 || series.last.empty() || series.highest.size() != series.last.size())
    return {0, UINT64_MAX};
  const std::size_t at = std::min(time_ns / series.bucket_ns, series.last.size() - 1);
  const std::uint64_t before = at == 0 ? 0 : series.last[at - 1];
  return {std::min(before, series.last[at]), std::max(before, series.highest[at])};
}

void add_changes(SampledFree& free, const Report& report, std::uint16_t device) {
  const std::uint64_t run_ns = report.timeline.duration_ns;
  const std::uint64_t then_ns = run_ns - std::min(run_ns, free.age_ns);
  for (const TimelineSeries& series : report.timeline.series) {
    const bool is_served = takes_device_memory(series.kind) && series.kind != Kind::device &&
                           series.kind != Kind::stream_ordered;  // its pools keep what is freed
    if (!is_served || series.device != device) continue;
    const HeldThen then = held_at(series, then_ns);
    std::uint64_t now = 0;
    for (const KindFacts& kind : report.kinds) {
      if (kind.kind == series.kind && kind.device == device) now = kind.current_bytes;
    }
    free.back_since += then.least - std::min(then.least, now);
    free.taken_since += now - std::min(now, then.most);
  }
}

}  // namespace

std::optional<SampledFree> sampled_free(const Report& report, std::uint16_t device) {
  const DeviceReport* const its = find_device(report, device);
  if (its == nullptr || is_of_several(report)) return std::nullopt;
  SampledFree free{.bytes = its->facts.free_bytes, .age_ns = its->facts.free_bytes_age_ns};
  if (free.bytes == 0 && free.age_ns == 0) return std::nullopt;
  if (free.age_ns != 0) add_changes(free, report, device);
  return free;
}

}  // namespace vramscope
