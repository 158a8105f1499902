// Follows the trace that a report names.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/traced_curve.h"

#include <algorithm>
#include <utility>

#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_timeline.h"

namespace vramscope {

std::optional<RunCurve> traced_curve(const ReportOfProcess& one) {
  const bool is_of_one_device = !one.is_of_host && devices_used(one.process.kinds).size() == 1;
  if (!is_of_one_device || trigger_of(one.process.trigger) == Trigger::recovered)
    return std::nullopt;
  for (const std::string& candidate : trace_files(one.file, one.process.trace)) {
    const TraceInput input(candidate);
    if (!input.problem().empty()) continue;
    TraceReader reader(input.bytes(), TraceReader::Damage::refused);
    if (!is_whole_trace_of(reader, one.process.process, one.process.trace)) continue;
    TraceFollower trace(reader);
    std::optional<RunTimeline> timeline = trace_timeline(trace, {});
    if (!timeline) continue;
    const auto is_sum = [](const RunCurve& curve) { return curve.is_of_all_kinds; };
    const auto found = std::ranges::find_if(timeline->curves, is_sum);
    if (found != timeline->curves.end()) return std::move(*found);
  }
  return std::nullopt;
}

}  // namespace vramscope
