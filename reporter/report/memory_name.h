// memory_name() names memory of a kind and a device for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "allocator/base/place.h"
#include "reporter/report/report.h"

namespace vramscope {

// Returns "GPU" for device memory, else the kind's name in reports: "managed".
[[nodiscard]] inline std::string kind_text(Kind kind) {
  return kind == Kind::device ? "GPU" : std::string(kKindNames[static_cast<std::size_t>(kind)]);
}

inline constexpr std::string_view kGpu = "GPU ";  // the beginning of every GPU's name

// Returns "GPU 0", or "GPU 0 of node1" in a report of several hosts: see label_gpus().
[[nodiscard]] inline std::string gpu_name(const Report& report, std::uint16_t device) {
  for (const DeviceReport& one : report.devices) {
    if (one.facts.index == device && !one.label.empty()) return one.label;
  }
  return "GPU " + std::to_string(device);
}

// Returns "GPU 0", "GPU 0 managed" or "pinned".
[[nodiscard]] inline std::string memory_name(const Report& report, Kind kind,
                                             std::uint16_t device) {
  if (!has_device(kind)) return kind_text(kind);
  const std::string gpu = gpu_name(report, device);
  return kind == Kind::device ? gpu : gpu + " " + kind_text(kind);
}

// Does the same for one process by its own device numbers, as in a trace.
[[nodiscard]] inline std::string memory_name(Kind kind, std::uint16_t device) {
  if (!has_device(kind)) return kind_text(kind);
  const std::string gpu = "GPU " + std::to_string(device);
  return kind == Kind::device ? gpu : gpu + " " + kind_text(kind);
}

}  // namespace vramscope
