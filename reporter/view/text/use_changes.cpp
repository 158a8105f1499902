// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/use_changes.h"

#include <optional>

namespace vramscope {
namespace {

Columns<GpuPeaks> use_fields() {
  using Row = GpuPeaks;
  return {{"requested_bytes", "requested, all kinds together",
           [](const Row& row) { return row.requested.upper; }},
          {"reserved_bytes", "upper bound: segments and uncached memory",
           [](const Row& row) { return row.reserved.upper; }},
          {"used_bytes",
           "upper bound: the same plus contexts and code, and plus other processes if these were "
           "not measured; `null`: their memory is not known",
           [](const Row& row) {
             return row.outside ? std::optional(row.used()->upper) : std::nullopt;
           }}};
}

}  // namespace

Columns<UseChange> use_change_fields() {
  using Row = UseChange;
  return {{"device", "number of the GPU", &Row::device},
          {"before", "in BEFORE", use_fields(), &Row::before},
          {"after", "in AFTER", use_fields(), &Row::after}};
}

std::vector<UseChange> use_changes(const Report& before, const Report& after) {
  std::vector<UseChange> changes;
  const std::vector<GpuPeaks> uses = device_peaks(after);
  for (const GpuPeaks& was : device_peaks(before)) {
    for (const GpuPeaks& is : uses) {
      if (is.device == was.device) changes.push_back({was.device, was, is});
    }
  }
  return changes;
}

}  // namespace vramscope
