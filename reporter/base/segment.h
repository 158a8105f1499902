// SegmentChange is memory that our allocator got from the driver or gave back, and UnrecordedChange
// what else of a device is used, in plain numbers for a trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

// Memory that our allocator got from the driver, to give it to the program whole or in blocks, or
// gave back.
struct SegmentChange {
  enum class What : std::uint8_t { came, went, pages_came, pages_went };
  What what = What::came;
  bool by_pytorch = false;  // PyTorch's policy: large segments of device memory are cut, pinned
                            // ones are not
  Place place;
  Address address = 0;
  std::uint64_t bytes = 0;       // 0 for a whole segment that went back
  std::uint64_t page_bytes = 0;  // of pages: the size of one
  // The time by CLOCK_MONOTONIC, and the number of the newest allocation: after the driver's call
  // that gave the memory, or before the call that took it back.
  std::uint64_t at_ns = 0;
  std::uint64_t serial = 0;
};

// What of a device was used at an instant and is not recorded: contexts, code, other processes.
struct UnrecordedChange {
  std::uint16_t device = 0;
  std::uint64_t total_bytes = 0;       // of the device
  std::uint64_t unrecorded_bytes = 0;  // as the allocator was told
  std::uint64_t kept_bytes = 0;        // of these, this process's contexts and code
  // The time by CLOCK_MONOTONIC, and the number of the newest allocation.
  std::uint64_t at_ns = 0;
  std::uint64_t serial = 0;
};

}  // namespace vramscope
