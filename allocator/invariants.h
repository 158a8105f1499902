// The invariants are what must hold between any two calls, recounted from the blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "allocator/state.h"

namespace vramscope {

class CachingAllocator::Invariants {
 public:
  // Empty, or what is wrong. May throw bad_alloc.
  [[nodiscard]] static std::string check(const State& state) VRAMSCOPE_REQUIRES(state);

 private:
  // Segments that are one block each.
  [[nodiscard]] static std::size_t count_of_one_block(const State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static std::string check_reservations(const State& state) VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
