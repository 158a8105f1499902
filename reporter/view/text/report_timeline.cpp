// Takes curves and marks from a report.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/timeline_text.h"

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

// What processes held together peaked when none of them need have. The last bucket may be longer
// than what was left of the run.
void add_marks_of_sums(const Report& report, RunTimeline& timeline) {
  for (const TimelineSeries& series : report.timeline.series) {
    const auto most = std::max_element(series.highest.begin(), series.highest.end());
    if (most == series.highest.end() || *most == 0) continue;
    const auto bucket = static_cast<std::uint64_t>(most - series.highest.begin());
    const std::uint64_t from_ns = bucket * series.bucket_ns;
    const std::uint64_t end_ns = std::max(timeline.length_ns, from_ns + 1);
    timeline.marks.push_back({.what = RunMark::What::peak,
                              .at_ns = from_ns,
                              .kind = series.kind,
                              .device = series.device,
                              .bytes = *most,
                              .until_ns = std::min(from_ns + series.bucket_ns, end_ns),
                              .is_bound = true});
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

RunTimeline run_timeline(const Report& report, const TimelineChoice& choice) {
  RunTimeline timeline;
  timeline.start_ns = report.timeline.start_ns;
  timeline.length_ns = length_of(report);
  if (is_of_several(report))
    timeline.end_of_several =
        have_all_ended(report) ? "after all processes ended" : "at the last report";
  for (const TimelineSeries& series : report.timeline.series) {
    timeline.curves.push_back({.kind = series.kind,
                               .device = series.device,
                               .bucket_ns = series.bucket_ns,
                               .highest = series.highest,
                               .last = series.last});
  }
  add_curves_of_all_kinds(report, timeline);
  add_marks(report, timeline);
  const auto name = [&](auto& one) { one.memory = memory_name(report, one.kind, one.device); };
  std::for_each(timeline.curves.begin(), timeline.curves.end(), name);
  std::for_each(timeline.marks.begin(), timeline.marks.end(), name);
  choose(timeline, choice);
  return timeline;
}

}  // namespace vramscope
