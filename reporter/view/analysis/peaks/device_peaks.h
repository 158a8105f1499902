// device_peaks() returns what a process had of each GPU at its peak: requested, reserved and used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/peaks/usage_bounds.h"

namespace vramscope {

struct Report;

// The peaks of all kinds of memory together. Values that were highest at different times have
// bounds. For several processes the upper bound is the sum of theirs.
struct GpuPeaks {
  std::uint16_t device = 0;
  std::string gpu = {};  // for people: gpu_name()
  PeakBounds requested = {};
  // Segments of the allocator, and what the driver itself served: the requested bytes of that, and
  // what its pools keep.
  PeakBounds reserved = {};
  // Contexts and code: as measured, or at most what nothing recorded accounts for, with the memory
  // of other processes. Nothing: not known.
  std::optional<PeakBounds> outside = {};
  bool has_others = false;  // other processes may be in `outside`
  bool adds_up = false;     // the upper bounds of several processes, which differ in time
  bool has_several_kinds = false;
  // Returns reserved memory with contexts and code.
  [[nodiscard]] std::optional<PeakBounds> used() const;
};

// Returns the devices with memory, by number. Returns none if a filter removed some of a device's
// memory, or segments were not counted. May throw bad_alloc.
[[nodiscard]] std::vector<GpuPeaks> device_peaks(const Report& report);

}  // namespace vramscope
