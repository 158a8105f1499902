// Adds up the segments without a block in use.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/goes_back_text.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/format.h"

namespace vramscope {

std::string goes_back_text(const Report& report, const LedgerEntry& cached) {
  constexpr const char* kAll = "; it goes back when memory gets short.";
  const DeviceReport* const device = find_device(report, cached.device);
  const bool is_ours = cached.owner == "vramscope" && !adds_peaks(report);
  if (!is_ours || device == nullptr || device->segments.empty()) return kAll;
  std::uint64_t idle = 0;
  for (const SegmentFacts& segment : device->segments) {
    // Pages of an expandable one go back by themselves.
    const bool goes_back = segment.active_size == 0 || segment.is_expandable;
    if (goes_back) idle += segment.total_size - std::min(segment.total_size, segment.active_size);
  }
  if (idle >= cached.device_bytes) return kAll;
  return (idle == 0 ? std::string("; all of it lies beside live blocks and cannot go back")
                    : "; " + amount_text(idle) + " go back when memory gets short, the rest lies " +
                          "beside live blocks and cannot") +
         ": vramscope map.";
}

}  // namespace vramscope
