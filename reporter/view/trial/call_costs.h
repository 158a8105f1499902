// CallCosts are what calls of the driver for memory take, so that a replay can say what its calls
// would have cost.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct CallCosts {
  // Who says so: an H200, whose calls were timed by size; the trace's own calls; or the caller.
  enum class From : std::uint8_t { h200, trace, given };
  From from = From::h200;
  // Unless they are those of the H200: a call that gives device memory, and one that takes it back.
  std::uint64_t allocate_ns = 0;
  std::uint64_t free_ns = 0;

  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t free(std::uint64_t bytes) const;
  // Of `pages` pages that one call of the allocator maps or unmaps.
  [[nodiscard]] std::uint64_t map(std::uint64_t pages) const;
  [[nodiscard]] std::uint64_t unmap(std::uint64_t pages) const;
  [[nodiscard]] static std::uint64_t pin(std::uint64_t bytes);
  [[nodiscard]] static std::uint64_t unpin(std::uint64_t bytes) { return pin(bytes); }
};

}  // namespace vramscope
