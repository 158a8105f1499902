// ranks_answer_text() says which rank is first at its peak and why, in which step ranks differ
// most, and what communication libraries hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reporter/view/analysis/ranks_answer.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// A paragraph for each; without what differs by less than a tenth. The answer is of the reports.
[[nodiscard]] Document ranks_answer_text(const std::vector<ReportOfProcess>& reports,
                                         const RanksAnswer& answer);
// The reports outlive them.
[[nodiscard]] Columns<FirstPeak> first_peak_columns(const std::vector<ReportOfProcess>& reports);
[[nodiscard]] Columns<TimedPeak> timed_peak_columns(const std::vector<ReportOfProcess>& reports);
[[nodiscard]] Columns<NamedSpread> named_spread_columns(
    const std::vector<ReportOfProcess>& reports);

}  // namespace vramscope
