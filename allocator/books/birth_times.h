// Birth times tell when a numbered allocation was made, in bounded memory and with an error of
// under 1 % of its age.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/ground/mapped_array.h"

namespace vramscope {

// Rings of times: the first knows each of the last 1024 allocations, the next each 8th of the last
// 8192, and so on, each made when it has its first time. Without memory for them every allocation
// is as old as the first.
// Threads: one at a time.
class BirthTimes {
 public:
  explicit BirthTimes(LiveMemory* live = nullptr) : times_({live, LivePart::birth_times}) {}

  // Allocation `serial`, the one after the last, began at `ns`.
  void note(std::uint64_t serial, std::uint64_t ns) noexcept {
    newest_ = serial;
    if (serial % kStride == 0 || times_.size() == 0) [[unlikely]]
      note_in_all(serial, ns);
    if (times_.size() != 0) times_[serial % kRing] = ns;
  }
  // Room for copy_from(). False: out of memory.
  [[nodiscard]] bool make_room() noexcept;
  // What an array has beyond the rings, to end with a page, is nobody's.
  [[nodiscard]] bool has_room_for(const BirthTimes& other) const {
    return other.times_.size() == 0 || times_.size() != 0;
  }
  // All that the other one knows; there is room.
  void copy_from(const BirthTimes& other) noexcept;

  // The number of the last allocation that was noted; 0: none.
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  // `serial` was noted. Not later than it was.
  [[nodiscard]] std::uint64_t time_of(std::uint64_t serial) const noexcept;

 private:
  static constexpr std::size_t kRing = 1024;
  static constexpr unsigned kStrideBits = 3;
  static constexpr std::uint64_t kStride = std::uint64_t{1} << kStrideBits;
  static constexpr unsigned kLevels = 12;  // 2^43 allocations

  void note_in_all(std::uint64_t serial, std::uint64_t ns) noexcept;

  MappedArray<std::uint64_t> times_;  // level by level
  std::uint64_t first_ns_ = 0;
  std::uint64_t newest_ = 0;  // the last that was noted
};

}  // namespace vramscope
