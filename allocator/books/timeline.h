// A timeline tells how one quantity went over time, in buckets that grow wider as time passes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/base/snapshot.h"

namespace vramscope {

// Times are nanoseconds since a beginning that the owner chooses. Threads: one at a time.
class Timeline {
 public:
  static constexpr std::size_t kBuckets = TimelineSnapshot::kMostBuckets;
  static constexpr unsigned kFirstWidthBits = TimelineSnapshot::kFirstWidthBits;

  struct Bucket {
    std::uint64_t highest = 0;  // at any instant of the bucket
    std::uint64_t last = 0;     // at its end
  };

  // The quantity became `after`; it was `before` since the last change. `at` never falls.
  void note(std::uint64_t at, std::uint64_t before, std::uint64_t after) noexcept {
    if (at >= end_) [[unlikely]]
      advance(at, before);
    Bucket& bucket = buckets_[used_ - 1];
    bucket.last = after;
    bucket.highest = std::max(bucket.highest, after);
  }
  // Nothing changed until `at`.
  void advance(std::uint64_t at, std::uint64_t value) noexcept;

  [[nodiscard]] std::uint64_t bucket_ns() const { return std::uint64_t{1} << width_bits_; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] const Bucket& operator[](std::size_t i) const { return buckets_[i]; }

 private:
  void halve() noexcept;

  std::array<Bucket, kBuckets> buckets_{};
  std::size_t used_ = 0;
  std::uint64_t end_ = 0;  // of the last used bucket
  unsigned width_bits_ = kFirstWidthBits;
};

}  // namespace vramscope
