// Follows the trace that a report names.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/traced_curve.h"

#include <algorithm>
#include <utility>

#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_timeline.h"

namespace vramscope {

std::optional<RunCurve> traced_curve(const ReportOfProcess& one) {
  const bool is_of_one_device = !one.is_of_host && devices_used(one.process.kinds).size() == 1;
  if (!is_of_one_device) return std::nullopt;
  std::optional<RunCurve> curve;
  (void)use_whole_trace(one.file, one.process, [&](TraceReader& reader) {
    if (reader.begin() != nullptr) return false;  // what it held before is not known
    TraceFollower trace(reader);
    std::optional<RunTimeline> timeline = trace_timeline(trace, {});
    if (!timeline) return false;
    const auto is_sum = [](const RunCurve& one_curve) { return one_curve.is_of_all_kinds; };
    const auto found = std::ranges::find_if(timeline->curves, is_sum);
    if (found != timeline->curves.end()) curve = std::move(*found);
    return curve.has_value();
  });
  return curve;
}

}  // namespace vramscope
