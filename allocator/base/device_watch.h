// A device watch is what was measured of a device's memory from one instant on, apart from the
// peaks of the statistics, which anybody may reset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

// Requested bytes of all kinds of memory that the device holds. New bytes were allocated since the
// watch began and have not been freed by the program.
struct DeviceWatch {
  std::uint16_t device = 0;
  std::uint64_t since = 0;  // the number of the newest allocation when it began
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t new_bytes = 0;
  std::uint64_t new_peak_bytes = 0;
  Tag new_peak_tag = 0;  // by whose allocation

  [[nodiscard]] bool covers(Place where) const {
    return where.device == device && takes_device_memory(where.kind);
  }
};

}  // namespace vramscope
