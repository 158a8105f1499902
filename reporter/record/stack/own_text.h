// TextRange is where the code of an object lies in memory, especially that of our own library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct TextRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool contains(std::uintptr_t address) const {
    return address >= begin && address < end;
  }
};

// Returns the executable part of the object that contains `code`, or an empty range if the loader
// knows none.
[[nodiscard]] TextRange text_range_of(const void* code) noexcept;

}  // namespace vramscope
