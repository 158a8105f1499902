// DeviceProcess names a process that uses a device; MeasuredBy says how memory of contexts and code
// was measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramscope {

// How the memory that the driver keeps for contexts and code was measured.
enum class MeasuredBy : std::uint8_t {
  none,        // it was not measured, or the report does not say
  difference,  // as a difference of free memory, which includes what other processes took and gave
               // back meanwhile
  alone,       // as a difference, while no other process could use the device
  nvml,        // NVML reports what this process uses
};
[[nodiscard]] constexpr const char* word_of(MeasuredBy measure) {
  constexpr const char* kWords[] = {"", "difference", "alone", "nvml"};
  return kWords[static_cast<std::size_t>(measure)];
}
// `word` is from a report.
[[nodiscard]] constexpr bool is_measured(std::string_view word) {
  return word == word_of(MeasuredBy::alone) || word == word_of(MeasuredBy::nvml);
}

// Another process that uses a device, as NVML reports it.
struct DeviceProcess {
  std::uint32_t pid = 0;
  std::string name;  // of its command; "": not known
  std::uint64_t bytes = 0;
  [[nodiscard]] bool operator==(const DeviceProcess&) const = default;
};

}  // namespace vramscope
