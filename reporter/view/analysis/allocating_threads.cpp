// Counts threads by the rows of their axis.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/allocating_threads.h"

#include <set>
#include <string_view>

#include "reporter/report/report.h"

namespace vramscope {

std::optional<std::size_t> threads_among(const std::vector<AxisEntry>& axes,
                                         const std::function<bool(const AxisEntry&)>& counts) {
  std::set<std::string_view> threads;
  for (const AxisEntry& row : axes) {
    if (row.axis == Axis::thread && row.totals.total_count != 0 && counts(row))
      threads.insert(row.value);
  }
  if (threads.empty() || threads.contains("others") || threads.contains("unknown")) return {};
  return threads.size();
}

std::optional<std::size_t> allocating_threads(const Report& report) {
  if (report.chosen && report.chosen->by_rows && report.chosen->axis != Axis::thread)
    return report.chosen->threads == 1 ? std::optional<std::size_t>(1) : std::nullopt;
  return threads_among(report.axes, [](const AxisEntry& row) { return holds_memory(row.kind); });
}

}  // namespace vramscope
