// Reach says which memory behind a pointer can be read: of an image of a live file only what the
// file has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/ground/live_memory.h"

namespace vramscope {

// By default that of the process that made the pointers: all but null. Threads: any.
class Reach {
 public:
  constexpr Reach() = default;
  // Of an image: `header` with what it names, mapped where it says.
  constexpr explicit Reach(const LiveHeader& header) : image_(&header) {}

  [[nodiscard]] constexpr bool is_of_image() const { return image_ != nullptr; }
  // `count` values, or null: there are none, or they did not get into the file. Throws
  // std::runtime_error when there is damage: the pointer leads elsewhere.
  template <class T>
  [[nodiscard]] const T* at(const T* first, std::size_t count = 1) const {
    if (first == nullptr || image_ == nullptr) return first;
    return has(reinterpret_cast<std::uintptr_t>(first), alignof(T), sizeof(T), count) ? first
                                                                                      : nullptr;
  }

 private:
  [[nodiscard]] bool has(std::uintptr_t first, std::size_t alignment, std::size_t bytes,
                         std::size_t count) const;

  const LiveHeader* image_ = nullptr;
};

}  // namespace vramscope
