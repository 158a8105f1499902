// What two runs had of each GPU at their peaks: requested, reserved and used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

struct Report;

// What the two runs had of one GPU at their peaks.
struct UseChange {
  std::uint16_t device = 0;
  GpuPeaks before;
  GpuPeaks after;
};
// Of GPUs of which both tell. May throw bad_alloc.
[[nodiscard]] std::vector<UseChange> use_changes(const Report& before, const Report& after);

[[nodiscard]] Columns<UseChange> use_change_fields();

}  // namespace vramscope
