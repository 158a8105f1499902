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
// bounds. For several processes the upper bound of `reserved` is the sum of theirs, and `requested`
// has the bounds of device_sums().
struct GpuPeaks {
  std::uint16_t device = 0;
  std::string gpu = {};  // for people: gpu_name()
  PeakBounds requested = {};
  // Segments of the allocator, and what the driver itself served: the requested bytes of that, and
  // what its pools keep.
  PeakBounds reserved = {};
  std::optional<std::uint64_t> outside = {};  // contexts and code; nothing: not measured
  // What nothing recorded accounted for when the driver was last asked, `age_ns` before the report:
  // contexts, code and other processes. It bounds nothing at other times.
  struct LastSeen {
    std::uint64_t bytes = 0;
    std::uint64_t age_ns = 0;
  };
  std::optional<LastSeen> last_seen = {};  // nothing: measured, not known, or of several processes
  bool lacks_outside = false;              // there are contexts or code, and nobody measured them
  std::uint64_t total_bytes = 0;           // of the device; 0: not known
  bool adds_up = false;  // the upper bounds of several processes, which differ in time
  bool has_several_kinds = false;
  // Returns reserved memory with contexts and code. Nothing: these were not measured, so that only
  // reserved.lower is sure to have been used.
  [[nodiscard]] std::optional<PeakBounds> used() const;
  // Returns the upper bound of used().
  [[nodiscard]] std::optional<std::uint64_t> used_at_most() const;
};

// Returns the devices with memory, by number. Returns none if a filter removed some of a device's
// memory, or segments were not counted. May throw bad_alloc.
[[nodiscard]] std::vector<GpuPeaks> device_peaks(const Report& report);

}  // namespace vramscope
