// Counts what was refused, by device and beside them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/refusals_text.h"

#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

std::string trouble_text(const DeviceStatistics& stats) {
  const auto times = [](std::int64_t count) {
    return counted(static_cast<std::uint64_t>(count), "time");
  };
  std::string text;
  if (stats.num_ooms != 0) text = "out of memory " + times(stats.num_ooms);
  if (stats.num_alloc_retries <= 0) return text;
  return text + (text.empty() ? "" : "; ") + "cache emptied to retry " +
         times(stats.num_alloc_retries);
}

std::string other_refusals(const Report& report) {
  std::uint64_t told = 0;
  for (const DeviceReport& device : report.devices) told += positive(device.statistics.num_ooms);
  if (report.oom.count <= told) return "";
  const std::uint64_t others = report.oom.count - told;
  return told == 0 ? "out of memory " + counted(others, "time")
                   : counted(others, "more refusal") + " of other memory";
}

}  // namespace vramscope
