// Reach says which memory behind a pointer can be read. In an image of a live file that is only the
// memory that the file has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/base/live_memory.h"

namespace vramscope {

// By default the pointers are of this process, and all except null can be read. Threads: any.
class Reach {
 public:
  constexpr Reach() = default;
  // For an image: `header`, with its parts mapped at the addresses that it names.
  constexpr explicit Reach(const LiveHeader& header) : image_(&header) {}

  [[nodiscard]] constexpr bool is_of_image() const { return image_ != nullptr; }
  // Returns the pointer if `count` values can be read there, else null: the pointer is null, or the
  // values did not get into the file. Throws std::runtime_error if the image is damaged, so that
  // the pointer leads elsewhere.
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
