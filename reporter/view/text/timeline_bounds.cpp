// Asks for the bounds of each curve's sum.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/timeline_bounds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// Of all kinds of memory of a device together; 0: not known.
PeakBounds bounds_of_device(const Report& report, std::uint16_t device) {
  std::vector<ReportOfProcess> reports;
  for (const MergedProcess& process : report.processes) {
    reports.push_back({.file = report.file, .process = process, .is_merged = true});
  }
  std::vector<DeviceSum> sums = device_sums(report.processes);
  std::erase_if(sums, [&](const DeviceSum& sum) { return sum.index != device; });
  refine_from_traces(sums, reports);
  if (sums.size() != 1) return {};  // of several hosts each has a device of its own
  return {.lower = sums.front().lower, .upper = sums.front().upper};
}

template <class Row>
PeakBounds bounds_of(const Report& report, const Row& row) {
  return row.is_of_all_kinds ? bounds_of_device(report, row.device)
                             : sum_of_kind(report, row.kind, row.device).peak;
}

void cap(std::vector<std::uint64_t>& values, std::uint64_t most) {
  for (std::uint64_t& value : values) value = std::min(value, most);
}

}  // namespace

void add_bounds(RunTimeline& timeline, const Report& report) {
  if (!is_of_several(report) || (report.chosen && report.chosen->by_rows)) return;
  const bool is_whole = timeline.from_ns == 0 && timeline.to_ns >= timeline.length_ns;
  for (RunCurve& curve : timeline.curves) {
    const std::uint64_t most = bounds_of(report, curve).upper;
    if (most == 0) continue;
    cap(curve.highest, most);
    cap(curve.last, most);
    if (is_whole) curve.most_bytes = most;
  }
  for (RunMark& mark : timeline.marks) {
    if (mark.until_ns == 0) continue;
    const PeakBounds bounds = bounds_of(report, mark);
    if (bounds.upper == 0) continue;
    mark.bytes = bounds.upper;
    mark.is_bound = bounds.lower != bounds.upper;
  }
}

}  // namespace vramscope
