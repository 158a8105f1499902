// What two runs had of each GPU at their peaks: requested, reserved and used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Report;

// What the two runs had of one GPU at their peaks.
struct UseChange {
  std::uint16_t device = 0;
  GpuPeaks before;
  GpuPeaks after;
  bool is_of_one_report = false;  // compared with itself: bounds have not changed
};
// Of GPUs of which both tell. May throw bad_alloc.
[[nodiscard]] std::vector<UseChange> use_changes(const Report& before, const Report& after);

[[nodiscard]] Columns<UseChange> use_change_fields();

// "GPU 0, reserved (all kinds)    6.89 GiB -> 11.5 GiB (+4.66 GiB, +67.7 %)", and what was used. Of
// figures that are known within bounds it gives the bounds of the change, if these say which is
// more.
[[nodiscard]] Document use_changes_text(const std::vector<UseChange>& uses);

}  // namespace vramscope
