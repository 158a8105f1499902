// SegmentChange is what our allocator got from the driver, or gave back: plain numbers for a trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/ground/place.h"

namespace vramscope {

// Memory that our allocator got from the driver, to hand it out whole or in blocks, or gave back.
struct SegmentChange {
  enum class What : std::uint8_t { came, went, pages_came, pages_went };
  What what = What::came;
  bool by_pytorch = false;  // by that policy: of device memory large ones are cut, of pinned none
  Place place;
  Address address = 0;
  std::uint64_t bytes = 0;       // 0 of a whole segment that went
  std::uint64_t page_bytes = 0;  // of pages: the size of one
  // After the call of the driver by which it came, before that by which it went: CLOCK_MONOTONIC,
  // and the number of the newest allocation.
  std::uint64_t at_ns = 0;
  std::uint64_t serial = 0;
};

}  // namespace vramscope
