// The invariants hold between any two calls. They are checked by a recount of the blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "allocator/state.h"

namespace vramscope {

class CachingAllocator::Invariants {
 public:
  // Returns an empty text, or what is wrong. May throw bad_alloc.
  [[nodiscard]] static std::string check(const State& state) VRAMSCOPE_REQUIRES(state);

 private:
  // Returns the number of segments that are one block each.
  [[nodiscard]] static std::size_t count_of_one_block(const State& state) VRAMSCOPE_REQUIRES(state);
  [[nodiscard]] static std::string check_reservations(const State& state) VRAMSCOPE_REQUIRES(state);
};

}  // namespace vramscope
