// need_history() makes figures null that a snapshot without history does not tell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

// A snapshot without history tells what was live, and neither peaks nor sums over time.
enum class RunHistory : std::uint8_t { known, unknown };
[[nodiscard]] inline RunHistory run_history(const Report& report) {
  return tells_frees(report) ? RunHistory::known : RunHistory::unknown;
}

// Makes the columns with these names null in JSON and CSV if the history is unknown. Their texts,
// of those that a table keeps, stay.
template <class Row>
void need_history(Columns<Row>& columns, const std::vector<std::string_view>& names,
                  RunHistory history) {
  for (Column<Row>& column : columns) {
    if (std::find(names.begin(), names.end(), column.name) == names.end()) continue;
    const bool says_null = column.doc.find("null") != std::string::npos;
    column.doc +=
        says_null ? ", or a snapshot without history" : "; `null`: a snapshot without history";
    column.may_be_null = true;
    if (history == RunHistory::known) continue;
    const Column<Row> was = column;
    if (!was.text) column.text = [was](const Row& row) { return text_of(was.cell(row), was); };
    column.cell = [](const Row&) { return CellValue(); };
  }
}
inline const std::vector<std::string_view> kHistoryOfTotals{"peak_bytes", "own_peak_bytes",
                                                            "total_bytes", "total_count"};

}  // namespace vramscope
