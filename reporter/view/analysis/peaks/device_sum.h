// device_sums() says what the processes on one device held of it together, at most.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/ground/place.h"
#include "reporter/view/analysis/peaks/held_bounds.h"

namespace vramscope {

struct MergedProcess;
struct Report;

// Requested bytes of all kinds that take memory of the device.
struct DeviceSum {
  std::string host;  // "" where processes of several have it: containers on one machine
  std::string name;
  std::string uuid;
  std::string label;                    // for a reader: Gpu::label
  std::size_t place = 0;                // Gpu::place
  std::uint16_t ordinal = 0;            // Gpu::ordinal
  std::uint16_t index = 0;              // ProcessDevice::index of the first of them
  std::vector<std::size_t> processes;   // indices
  std::vector<std::uint16_t> ordinals;  // ProcessDevice::index of each of them
  std::uint64_t sum_of_peaks = 0;
  // The peak of the sum is not below `lower` and not above `upper`. Clocks of several hosts count
  // as one.
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
  bool is_traced = false;                     // they are equal, from traces of all of them
  bool is_partly_traced = false;              // traces of some tell of these
  std::optional<std::size_t> not_whole = {};  // the first of which no trace counts
};

// By host and ordinal, of each GPU as Gpus tells them apart.
[[nodiscard]] std::vector<DeviceSum> device_sums(const std::vector<MergedProcess>& processes);

// The most of device memory that a process held at one time, all kinds and devices together, is
// not below `lower` and not above `upper`. They are equal where it used one kind on one device.
[[nodiscard]] PeakBounds peak_bounds(const MergedProcess& process);
// The same of one device, by the process's ordinal.
[[nodiscard]] PeakBounds peak_bounds(const MergedProcess& process, std::uint16_t device);
// The same of one kind of memory and ordinal, of all processes together at one time.
[[nodiscard]] PeakBounds peak_bounds(const std::vector<MergedProcess>& processes, Kind kind,
                                     std::uint16_t device);
[[nodiscard]] std::uint64_t peak_of(const MergedProcess& process);  // the upper one

// Whether it had any of one kind of memory, on the process's ordinal.
[[nodiscard]] bool has_kind(const MergedProcess& process, Kind kind, std::uint16_t device);
// Whose peaks need not have come together: rows of each kind's own peak may add up to more.
[[nodiscard]] bool has_several_kinds(const MergedProcess& process, std::uint16_t device);

[[nodiscard]] std::uint64_t current_of(const MergedProcess& process);
[[nodiscard]] std::uint64_t allocations_of(const MergedProcess& process);
// Most in segments and of other kinds, of all devices; and of that what was needed, as far as it is
// known that the rest was idle.
[[nodiscard]] std::uint64_t reserved_of(const MergedProcess& process);
[[nodiscard]] std::uint64_t needed_of(const MergedProcess& process);

}  // namespace vramscope
