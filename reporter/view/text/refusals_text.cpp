// Counts what was refused, by device and beside them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/refusals_text.h"

#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/free_calls.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

std::string retries_text(const Report& report, const DeviceReport& device) {
  const std::string text = "Vramscope asked the driver again " +
                           times_text(positive(device.statistics.num_alloc_retries));
  const FreeCalls frees = free_calls(report, device);
  if (!frees.given_back_later) return text;
  const std::uint64_t segments = *frees.given_back_later;
  return segments == 0
             ? text + ", but its cache had no idle memory to release"
             : text + "; during the run its cache released " + counted(segments, "idle segment");
}

std::string trouble_text(const Report& report, const DeviceReport& device) {
  const DeviceStatistics& stats = device.statistics;
  std::string text;
  if (stats.num_ooms != 0) text = "out of memory " + times_text(positive(stats.num_ooms));
  if (stats.num_alloc_retries <= 0) return text;
  return text + (text.empty() ? "" : "; ") + retries_text(report, device);
}

std::string other_refusals(const Report& report) {
  std::uint64_t told = 0;
  for (const DeviceReport& device : report.devices) told += positive(device.statistics.num_ooms);
  if (report.oom.count <= told) return "";
  const std::uint64_t others = report.oom.count - told;
  return told == 0 ? "out of memory " + times_text(others)
                   : counted(others, "more refusal") + " of other memory";
}

std::string never_ran_out(const Report& report) {
  return tells_frees(report) ? "memory never ran out"
                             : "the snapshot does not tell whether memory ran out";
}

}  // namespace vramscope
