// device_sums() returns the most that the processes on one device held of it together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/view/analysis/peaks/usage_bounds.h"

namespace vramscope {

struct MergedProcess;
struct Report;

// Requested bytes of all kinds that take memory of the device.
struct DeviceSum {
  std::string host;  // "": processes of several hosts use it, such as containers on one machine
  std::string name;
  std::string uuid;
  std::string label;                    // for people: Gpu::label
  std::size_t place = 0;                // Gpu::place
  std::uint16_t ordinal = 0;            // Gpu::ordinal
  std::uint16_t index = 0;              // ProcessDevice::index of the first process
  std::vector<std::size_t> processes;   // indices of the processes
  std::vector<std::uint16_t> ordinals;  // ProcessDevice::index of each process
  std::uint64_t sum_of_peaks = 0;
  // The peak of the sum lies between `lower` and `upper`. Clocks of several hosts are treated as
  // one.
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
  bool is_traced = false;                     // the bounds are equal, from traces of all processes
  bool is_partly_traced = false;              // the bounds come in part from traces
  std::optional<std::size_t> not_whole = {};  // the first process whose trace does not count
};

// Returns the sums by host and ordinal, for each GPU that Gpus distinguishes.
[[nodiscard]] std::vector<DeviceSum> device_sums(const std::vector<MergedProcess>& processes);

// Returns bounds of the most device memory that a process held at one time, all kinds and devices
// together. They are equal if it used one kind on one device.
[[nodiscard]] PeakBounds peak_bounds(const MergedProcess& process);
// Does the same for one device, by the process's ordinal.
[[nodiscard]] PeakBounds peak_bounds(const MergedProcess& process, std::uint16_t device);
// Does the same for one kind of memory and ordinal, for all processes together at one time.
[[nodiscard]] PeakBounds peak_bounds(const std::vector<MergedProcess>& processes, Kind kind,
                                     std::uint16_t device);
[[nodiscard]] std::uint64_t peak_of(const MergedProcess& process);  // the upper bound

// Returns whether it had any memory of one kind, on the process's ordinal.
[[nodiscard]] bool has_kind(const MergedProcess& process, Kind kind, std::uint16_t device);
// Returns whether its kinds may have peaked at different times, so that rows of their own peaks may
// add up to more.
[[nodiscard]] bool has_several_kinds(const MergedProcess& process, std::uint16_t device);

[[nodiscard]] std::uint64_t current_of(const MergedProcess& process);
[[nodiscard]] std::uint64_t allocations_of(const MergedProcess& process);
// Return bounds of what was reserved at one time, for all kinds together, on a device or on all.
[[nodiscard]] PeakBounds reserved_bounds(const MergedProcess& process, std::uint16_t device);
[[nodiscard]] PeakBounds reserved_bounds(const MergedProcess& process);
// Returns the most of it that was needed, as far as the rest is known to have been idle.
[[nodiscard]] std::uint64_t needed_of(const MergedProcess& process);
// Returns bounds of the most that the process held at one time of these kinds together.
[[nodiscard]] PeakBounds peak_bounds(const MergedProcess& process, const WantsKind& wants);

}  // namespace vramscope
