// Intervals that grow longer.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/history.h"

namespace vramscope {

void History::advance(std::uint64_t at, std::uint64_t before) noexcept {
  while (at >> (kFirstWidthBits + doublings) > kIntervals) {
    used /= 2;  // one without a neighbour is a part of an interval that is not over
    for (std::size_t i = 0; i < used; ++i) last[i] = last[2 * i + 1];
    ++doublings;
  }
  for (const std::uint64_t over = at >> (kFirstWidthBits + doublings); used < over; ++used) {
    last[used] = before;
  }
}

}  // namespace vramscope
