// The capacity option, --device-memory-limit: what all memory on a device may add up to, read from
// text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "allocator/base/place.h"

namespace vramscope {

// Written 40GiB (every device), 40GiB,10GiB (device 0, device 1) or 0:40GiB,3:10GiB; none.
struct CapacityOption {
  std::array<std::uint64_t, kMaxDevices> bytes{};  // by ordinal; 0: no limit

  [[nodiscard]] bool any() const noexcept;
  friend bool operator==(const CapacityOption&, const CapacityOption&) = default;
};

// Reads a whole text and returns true, or leaves the limits alone. A device may be named once; a
// limit of nothing is refused.
[[nodiscard]] bool read(std::string_view text, CapacityOption& limits);
// Of the limits by name: the devices that have one and are not among the first `devices`, as "GPU
// 3, GPU 5"; "": there is none, or the limit is for every device.
[[nodiscard]] std::string beyond(const CapacityOption& limits, std::size_t devices);
// A report's warning of those begins so.
inline constexpr const char* kLimitOfNone = "--device-memory-limit has no effect on ";
// As read() takes it.
[[nodiscard]] std::string text(const CapacityOption& limits);

}  // namespace vramscope
