// Says what of the cache is idle.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/releasable_text.h"

#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/idle_text.h"

namespace vramscope {

std::string goes_back_text(const Report& report, const LedgerEntry& cached) {
  const std::string all = "; it " + goes_back_when(report) + ".";
  const DeviceReport* const device = find_device(report, cached.device);
  const bool is_ours = cached.owner == "vramscope" && !is_of_several(report);
  if (!is_ours || device == nullptr || device->segments.empty()) return all;
  const std::optional<std::uint64_t> idle = reserved_memory(report, *device).idle_now;
  if (!idle || *idle >= cached.device_bytes) return all;
  if (*idle == 0) {
    return "; all of it lies beside live blocks and cannot go back: vramscope map.";
  }
  return "; " + amount_text(*idle) + " of it is idle, and " + goes_back_when(report) +
         "; the rest lies beside live blocks and cannot: vramscope map.";
}

}  // namespace vramscope
