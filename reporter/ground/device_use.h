// Who uses a device, and how that was measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// How what the driver keeps for contexts and code was measured.
enum class MeasuredBy : std::uint8_t {
  none,        // it was not, or nobody says
  difference,  // of what was free: what other processes took and gave back meanwhile is in it
  alone,       // the same where nobody else can use the device
  nvml,        // NVML tells what this very process uses
};
[[nodiscard]] constexpr const char* word_of(MeasuredBy measure) {
  constexpr const char* kWords[] = {"", "difference", "alone", "nvml"};
  return kWords[static_cast<std::size_t>(measure)];
}
// `word`: of a report.
[[nodiscard]] constexpr bool is_measured(std::string_view word) {
  return word == word_of(MeasuredBy::alone) || word == word_of(MeasuredBy::nvml);
}

// Another process that uses a device, as NVML tells it.
struct DeviceProcess {
  std::uint32_t pid = 0;
  std::string name;  // of its command; "": not known
  std::uint64_t bytes = 0;
  [[nodiscard]] bool operator==(const DeviceProcess&) const = default;
};

}  // namespace vramscope
