// Merges intervals of a history as the run grows longer.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/history.h"

namespace vramscope {

void History::advance(std::uint64_t at, std::uint64_t before) noexcept {
  while (at >> (kFirstWidthBits + doublings) > kIntervals) {
    used /= 2;  // an odd last one is part of an unfinished interval
    for (std::size_t i = 0; i < used; ++i) last[i] = last[2 * i + 1];
    ++doublings;
  }
  for (const std::uint64_t over = at >> (kFirstWidthBits + doublings); used < over; ++used) {
    last[used] = before;
  }
}

}  // namespace vramscope
