// device_peaks() says what a process had of each GPU at its peak: requested, reserved and used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/peaks/held_bounds.h"

namespace vramscope {

struct Report;

// Of all kinds of memory. What was highest at different times, or need not have come together, lies
// between bounds; of several processes the upper one is the sum of theirs.
struct GpuPeaks {
  std::uint16_t device = 0;
  std::string gpu = {};  // for a reader: gpu_name()
  PeakBounds requested = {};
  // Segments of the allocator, and what the driver serves itself: what was requested of that, and
  // what its pools keep.
  PeakBounds reserved = {};
  // Contexts and code: as measured, or at most what nothing recorded accounts for; nothing: the
  // report does not know that either.
  std::optional<PeakBounds> outside = {};
  bool has_several_kinds = false;
  // Reserved, and contexts and code.
  [[nodiscard]] std::optional<PeakBounds> used() const;
};

// By device, of those with memory. Nothing where a filter left some of a device's memory out, or
// nobody counted segments. May throw bad_alloc.
[[nodiscard]] std::vector<GpuPeaks> device_peaks(const Report& report);

}  // namespace vramscope
