// Adds up the segments without a block in use.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/goes_back_text.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/text/format.h"

namespace vramscope {

std::string goes_back_text(const Report& report, std::uint16_t device, std::uint64_t bytes) {
  std::uint64_t idle = 0;
  bool has_segments = false;
  for (const DeviceReport& one : report.devices) {
    if (one.facts.index != device) continue;
    for (const SegmentFacts& segment : one.segments) {
      has_segments = true;
      // Pages of an expandable one go back by themselves.
      const bool goes_back = segment.active_size == 0 || segment.is_expandable;
      if (goes_back) idle += segment.total_size - std::min(segment.total_size, segment.active_size);
    }
  }
  if (idle >= bytes || !has_segments) return "; it goes back when memory gets short.";
  return (idle == 0 ? std::string("; all of it lies beside live blocks and cannot go back")
                    : "; " + amount_text(idle) + " go back when memory gets short, the rest lies " +
                          "beside live blocks and cannot") +
         ": vramscope map.";
}

}  // namespace vramscope
