// Takes curves and marks from a report.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/run_timeline.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

// Reports that do not tell how long the run was have it from their buckets.
std::uint64_t length_of(const Report& report) {
  std::uint64_t length = report.timeline.duration_ns;
  if (length != 0) return length;
  for (const TimelineSeries& series : report.timeline.series) {
    length = std::max(length, series.bucket_ns * series.highest.size());
  }
  return length;
}

// What processes held together peaked when none of them need have.
void add_marks_of_sums(const Report& report, RunTimeline& timeline) {
  for (const TimelineSeries& series : report.timeline.series) {
    const auto most = std::max_element(series.highest.begin(), series.highest.end());
    if (most == series.highest.end() || *most == 0) continue;
    const auto bucket = static_cast<std::uint64_t>(most - series.highest.begin());
    timeline.marks.push_back({.what = RunMark::What::peak,
                              .at_ns = bucket * series.bucket_ns,
                              .kind = series.kind,
                              .device = series.device,
                              .bytes = *most,
                              .until_ns = (bucket + 1) * series.bucket_ns});
  }
}

// Of one whose end nobody saw only the last call is known.
void add_mark_of_death(const MergedProcess& process, std::uint64_t after_ns,
                       RunTimeline& timeline) {
  timeline.marks.push_back({.what = RunMark::What::ended,
                            .at_ns = after_ns + process.timeline.duration_ns,
                            .text = named_process(process.process) + " " + death_text(process) +
                                    (is_end_known(process) ? "" : ", then or later"),
                            .process_ns = process.timeline.duration_ns});
}

void add_marks(const Report& report, RunTimeline& timeline) {
  const bool is_sum = is_of_several(report);
  if (is_sum) add_marks_of_sums(report, timeline);
  for (const JointPeak& joint : report.joint_peaks) {
    timeline.marks.push_back({.what = RunMark::What::peak,
                              .at_ns = joint.facts.peak_ns,
                              .device = joint.facts.device,
                              .is_of_all_kinds = true,
                              .bytes = joint.facts.peak_bytes});
  }
  for (const KindFacts& kind : report.kinds) {
    if (kind.peak_bytes == 0 || is_sum) continue;
    timeline.marks.push_back({.what = RunMark::What::peak,
                              .at_ns = kind.peak_ns,
                              .kind = kind.kind,
                              .device = kind.device,
                              .bytes = kind.peak_bytes});
  }
  for (const MergedProcess& process : merged_processes(report)) {
    const std::uint64_t start_ns = process.timeline.start_ns;
    const std::uint64_t after_ns = start_ns - std::min(start_ns, report.timeline.start_ns);
    for (const OomEvent& event : process.oom.events) {
      timeline.marks.push_back(
          {.what = RunMark::What::refused,
           .at_ns = after_ns + event.time_ns,
           .kind = event.kind,
           .device = event.device,
           .bytes = event.bytes,
           .text = is_sum ? named_process(process.process) : "",
           .process_ns = is_sum ? std::optional(event.time_ns) : std::nullopt});
    }
    if (is_sum && !death_text(process).empty()) add_mark_of_death(process, after_ns, timeline);
  }
  timeline.named = report.marks;
  timeline.unnamed_marks =
      report.range_marks - std::min<std::uint64_t>(report.range_marks, report.marks.size());
}

// The most that a device's memory can have come to: what the report tells of it beside its curves.
std::uint64_t bound_of_all_kinds(const Report& report, std::uint16_t device) {
  for (const JointBounds& joint : report.joint_bounds) {
    if (joint.device == device) return joint.upper;
  }
  return UINT64_MAX;
}

// The sum of a device's curves, in the longest of their buckets.
RunCurve sum_of(const std::vector<const RunCurve*>& curves, std::uint64_t bound) {
  RunCurve sum{.device = curves.front()->device, .is_of_all_kinds = true};
  std::uint64_t end_ns = 0;
  for (const RunCurve* const curve : curves) {
    sum.bucket_ns = std::max(sum.bucket_ns, curve->bucket_ns);
    end_ns = std::max(end_ns, curve->bucket_ns * curve->highest.size());
  }
  for (std::uint64_t from = 0; from < end_ns; from += sum.bucket_ns) {
    std::uint64_t highest = 0;
    std::uint64_t last = 0;
    for (const RunCurve* const curve : curves) {
      highest += curve->highest_between(from, from + sum.bucket_ns);
      last += curve->last_at(from + sum.bucket_ns - 1);
    }
    sum.highest.push_back(std::min(highest, bound));
    sum.last.push_back(std::min(last, bound));
  }
  return sum;
}

void add_curves_of_all_kinds(const Report& report, RunTimeline& timeline) {
  std::map<std::uint16_t, std::vector<const RunCurve*>> devices;
  for (const RunCurve& curve : timeline.curves) {
    const bool holds = std::any_of(curve.highest.begin(), curve.highest.end(),
                                   [](std::uint64_t bytes) { return bytes != 0; });
    if (takes_device_memory(curve.kind) && holds) devices[curve.device].push_back(&curve);
  }
  std::vector<RunCurve> sums;
  for (const auto& [device, curves] : devices) {
    if (curves.size() > 1) sums.push_back(sum_of(curves, bound_of_all_kinds(report, device)));
  }
  timeline.curves.insert(timeline.curves.begin(), sums.begin(), sums.end());
}

}  // namespace

std::uint64_t RunCurve::highest_between(std::uint64_t from, std::uint64_t to) const {
  const std::size_t buckets = highest.size();
  if (buckets == 0 || bucket_ns == 0 || to <= first_ns) return 0;
  from = std::max(from, first_ns) - first_ns;
  to -= first_ns;
  const std::size_t first = from / bucket_ns;
  if (first >= buckets) return last.empty() ? 0 : last.back();
  const std::size_t end = std::min<std::size_t>(buckets, std::max(to, from + 1) / bucket_ns + 1);
  std::uint64_t most = 0;
  for (std::size_t b = first; b < end; ++b) {
    const bool begins_after = b != first && b * bucket_ns >= to;
    if (!begins_after) most = std::max(most, highest[b]);
  }
  return most;
}

std::uint64_t RunCurve::last_at(std::uint64_t instant) const {
  if (last.empty() || bucket_ns == 0 || instant < first_ns) return 0;
  return last[std::min<std::uint64_t>((instant - first_ns) / bucket_ns, last.size() - 1)];
}

namespace {

// Leaves the buckets that the time has a part in; one at least.
void cut(RunCurve& curve, std::uint64_t from_ns, std::uint64_t to_ns) {
  const std::size_t buckets = curve.highest.size();
  if (buckets == 0 || curve.bucket_ns == 0) return;
  const auto after_first = [&](std::uint64_t at) { return at - std::min(at, curve.first_ns); };
  const std::size_t first =
      std::min<std::size_t>(after_first(from_ns) / curve.bucket_ns, buckets - 1);
  const std::size_t end = std::clamp<std::size_t>(
      (after_first(to_ns) + curve.bucket_ns - 1) / curve.bucket_ns, first + 1, buckets);
  const auto keep = [&](std::vector<std::uint64_t>& values) {
    values.resize(std::min(end, values.size()));
    values.erase(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size())));
  };
  keep(curve.highest);
  keep(curve.last);
  curve.first_ns += first * curve.bucket_ns;
}

}  // namespace

void choose(RunTimeline& timeline, const TimelineChoice& choice) {
  timeline.from_ns = choice.from_ns.value_or(0);
  timeline.to_ns = std::max(choice.to_ns.value_or(timeline.length_ns), timeline.from_ns + 1);
  const auto order_of = [&](const RunCurve& curve) {
    return std::pair(curve.highest_between(timeline.from_ns, timeline.to_ns),
                     curve.is_of_all_kinds);
  };
  std::erase_if(timeline.curves, [](const RunCurve& curve) { return !holds_memory(curve.kind); });
  if (choice.from_ns || choice.to_ns) {
    for (RunCurve& curve : timeline.curves) cut(curve, timeline.from_ns, timeline.to_ns);
  }
  std::stable_sort(timeline.curves.begin(), timeline.curves.end(),
                   [&](const RunCurve& a, const RunCurve& b) { return order_of(a) > order_of(b); });
  std::erase_if(timeline.marks, [&](const RunMark& mark) {
    return mark.at_ns < timeline.from_ns || mark.at_ns > timeline.to_ns;
  });
  std::stable_sort(timeline.marks.begin(), timeline.marks.end(),
                   [](const RunMark& a, const RunMark& b) { return a.at_ns < b.at_ns; });
  std::erase_if(timeline.named, [&](const NamedInstant& mark) {
    return mark.time_ns < timeline.from_ns || mark.time_ns > timeline.to_ns;
  });
  std::stable_sort(
      timeline.named.begin(), timeline.named.end(),
      [](const NamedInstant& a, const NamedInstant& b) { return a.time_ns < b.time_ns; });
}

void put_ranges_of_peak_first(RunTimeline& timeline) {
  const auto highest = std::max_element(
      timeline.marks.begin(), timeline.marks.end(), [](const auto& a, const auto& b) {
        const auto bytes = [](const RunMark& mark) {
          return mark.what == RunMark::What::peak ? mark.bytes : 0;
        };
        return bytes(a) < bytes(b);
      });
  if (highest == timeline.marks.end() || highest->what != RunMark::What::peak) return;
  const auto was_open = [&](const RunRange& range) {
    return std::any_of(range.spans.begin(), range.spans.end(), [&](const auto& span) {
      return span.first <= highest->at_ns && highest->at_ns <= span.second;
    });
  };
  std::stable_partition(timeline.ranges.begin(), timeline.ranges.end(), was_open);
}

RunTimeline run_timeline(const Report& report, const TimelineChoice& choice) {
  RunTimeline timeline;
  timeline.start_ns = report.timeline.start_ns;
  timeline.length_ns = length_of(report);
  if (is_of_several(report))
    timeline.end_of_several = have_all_ended(report) ? "ended" : "wrote reports";
  for (const TimelineSeries& series : report.timeline.series) {
    timeline.curves.push_back({.kind = series.kind,
                               .device = series.device,
                               .bucket_ns = series.bucket_ns,
                               .highest = series.highest,
                               .last = series.last});
  }
  add_curves_of_all_kinds(report, timeline);
  add_marks(report, timeline);
  choose(timeline, choice);
  return timeline;
}

}  // namespace vramscope
