// history_text() lists runs, one a line, and says how the peak grew; history_fields() are the same
// as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/analysis/history.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct PastRuns {
  std::vector<PastRun> runs;  // the newest first, unless sorted
  std::vector<PeakTrend> trends;
};

[[nodiscard]] Columns<PastRun> past_run_columns();
[[nodiscard]] Columns<PastRuns> history_fields(std::size_t most);
[[nodiscard]] Document history_text(const PastRuns& all, const Page& page, std::size_t most);

}  // namespace vramscope
