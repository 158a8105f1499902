// Compares pointers with the part of the image in which objects lie.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/reach.h"

#include <stdexcept>

namespace vramscope {

bool Reach::has(std::uintptr_t first, std::size_t alignment, std::size_t bytes,
                std::size_t count) const {
  constexpr auto kPart = static_cast<std::size_t>(LivePart::objects);
  const std::uint64_t begin = image_->base + kPart * kLivePartBytes;
  const std::uint64_t offset = first - begin;
  const bool is_inside = first >= begin && offset < kLivePartBytes && first % alignment == 0 &&
                         count <= (kLivePartBytes - offset) / bytes;
  if (!is_inside) throw std::runtime_error("a pointer of the recorder points outside its memory");
  if (offset + count * bytes <= image_->bytes[kPart].load(std::memory_order_acquire)) return true;
  if (image_->problem.load(std::memory_order_relaxed) != 0) return false;
  throw std::runtime_error("a pointer of the recorder points past the end of its memory");
}

}  // namespace vramscope
