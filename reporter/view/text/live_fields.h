// What `vramscope live` writes for programs: a document as JSON, and lines as CSV.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/live/live_reading.h"
#include "reporter/view/analysis/live_figures.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/text/live_screen.h"

namespace vramscope {

// A row with its name, as the screen shows it.
struct LiveNamedRow {
  std::string name;
  LiveRow row;
};
// The reading has a report, and outlives it.
struct LiveDocument {
  const LiveReading* reading = nullptr;
  std::vector<LiveGpu> devices = {};
  std::vector<std::vector<LiveNamedRow>> groups = {};  // by LiveGroup
};
// most: rows of each group; 0: all.
[[nodiscard]] LiveDocument live_document(const LiveReading& reading, LiveRowNames& names,
                                         std::size_t most);
[[nodiscard]] Columns<LiveDocument> live_fields();

// One GPU in one reading.
struct LiveLine {
  const LiveReading* reading = nullptr;
  LiveGpu device = {};
};
[[nodiscard]] std::vector<LiveLine> live_lines(const LiveReading& reading);
[[nodiscard]] Columns<LiveLine> live_line_columns();

}  // namespace vramscope
