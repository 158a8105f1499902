// Divides what a cache has beyond requests into idle memory, free memory beside live blocks, and
// rounding.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/releasable_text.h"

#include <algorithm>

#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/idle_text.h"

namespace vramscope {

std::string beyond_requests_text(const Report& report, const LedgerEntry& cached) {
  const std::uint64_t bytes = cached.device_bytes;
  const DeviceReport* const device = find_device(report, cached.device);
  const std::string when = goes_back_when(report);
  const auto idle_now =
      device == nullptr ? std::nullopt : reserved_memory(report, *device).idle_now;
  if (!idle_now || device->segments.empty() || device->statistics.allocated_bytes.all.current < 0) {
    return "rounding and free memory, whose idle part " + when;
  }
  const DeviceStatistics& stats = device->statistics;
  const std::int64_t allocated = stats.allocated_bytes.all.current;
  const std::uint64_t beside = std::min(
      positive(stats.reserved_bytes.all.current - allocated - static_cast<std::int64_t>(*idle_now)),
      bytes);
  const std::uint64_t rounding =
      std::min(positive(allocated - stats.requested_bytes.all.current), bytes - beside);
  const std::uint64_t idle = bytes - beside - rounding;  // with whole pages of the driver
  if (idle == bytes) return "idle memory, which " + when;
  std::string text = idle == 0 ? "" : amount_text(idle) + " idle, which " + when + "; ";
  if (beside != 0) text += amount_text(beside) + " free beside live blocks";
  if (beside != 0 && rounding != 0) text += " and ";
  if (rounding != 0) text += amount_text(rounding) + " of rounding";
  return text + ", which cannot be released: see vramscope map";
}

}  // namespace vramscope
