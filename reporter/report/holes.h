// Holes counts the free memory between the blocks of one segment, for a segment of this process or
// of a report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocator/base/snapshot.h"

namespace vramscope {

struct Holes {
  static constexpr std::size_t kNone = SIZE_MAX;
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t live_bytes = 0;  // with rounding; includes freed blocks that may still be in use
  std::uint64_t live_count = 0;
  std::size_t largest_live = kNone;  // index of the first of the largest live blocks
};

// `blocks` have members `size` and `state`.
template <class Blocks>
[[nodiscard]] Holes holes_of(const Blocks& blocks) {
  Holes holes;
  std::uint64_t largest = 0;
  std::size_t index = 0;
  for (const auto& block : blocks) {
    if (block.state == BlockState::inactive) {
      holes.free_bytes += block.size;
      holes.largest_free_bytes = std::max(holes.largest_free_bytes, block.size);
    } else {
      holes.live_bytes += block.size;
      ++holes.live_count;
      if (block.size > largest) {
        largest = block.size;
        holes.largest_live = index;
      }
    }
    ++index;
  }
  return holes;
}

}  // namespace vramscope
