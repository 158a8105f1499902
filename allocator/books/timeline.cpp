// Merges buckets of a timeline as time passes.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/timeline.h"

namespace vramscope {

void Timeline::advance(std::uint64_t at, std::uint64_t value) noexcept {
  while (at >> width_bits_ >= kBuckets) halve();
  const std::size_t wanted = static_cast<std::size_t>(at >> width_bits_) + 1;
  for (; used_ < wanted; ++used_) buckets_[used_] = {.highest = value, .last = value};
  end_ = std::uint64_t{used_} << width_bits_;
}

// Merges each two neighbours; an odd last bucket stays alone.
void Timeline::halve() noexcept {
  for (std::size_t i = 0; i < used_; i += 2) {
    const Bucket& first = buckets_[i];
    const Bucket& second = buckets_[i + 1 < used_ ? i + 1 : i];
    buckets_[i / 2] = {.highest = std::max(first.highest, second.highest), .last = second.last};
  }
  used_ = (used_ + 1) / 2;
  ++width_bits_;
  end_ = std::uint64_t{used_} << width_bits_;
}

}  // namespace vramscope
