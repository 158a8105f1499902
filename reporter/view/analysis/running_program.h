// RunningProgram is what `list` knows of a process that is recorded now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vramscope {

struct LiveReading;
struct Report;

struct RunningProgram {
  std::int64_t pid = 0;
  std::string program = {};  // its name, or that of the script that Python runs; "": not known
  std::optional<std::uint64_t> age_ns = {};
  std::vector<std::uint16_t> devices = {};  // with memory, by number
  std::optional<std::uint64_t> live_bytes = {};
  std::optional<std::uint64_t> peak_bytes = {};
  std::string mode = {};       // "": not known
  std::string report = {};     // absolute path of its next report; "": not known
  std::string live_file = {};  // "": it has none
  std::string problem = {};    // why figures are missing
};

// Requested bytes of all kinds that take memory of devices.
[[nodiscard]] std::uint64_t device_live(const Report& report);
// The peaks of such bytes by device. Several kinds of memory of one device that nobody followed
// together count with their own peaks.
[[nodiscard]] std::map<std::uint16_t, std::uint64_t> requested_peaks(const Report& report);

// live_file: that the reading was made from.
[[nodiscard]] RunningProgram running_program(std::int64_t pid, const std::string& live_file,
                                             const LiveReading& reading);

}  // namespace vramscope
