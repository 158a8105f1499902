// Asks for the bound of each kind of memory.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/timeline_cap.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {

void cap_timeline(Report& report) {
  if (!is_of_several(report) || (report.chosen && report.chosen->by_rows)) return;
  for (TimelineSeries& series : report.timeline.series) {
    const std::uint64_t most = sum_of_kind(report, series.kind, series.device).peak.upper;
    for (auto* const values : {&series.highest, &series.last}) {
      for (std::uint64_t& value : *values) value = std::min(value, most);
    }
  }
}

}  // namespace vramscope
