// Allocation times say when a numbered allocation was made, in bounded memory and with an error
// under 1 % of its age.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/base/mapped_array.h"

namespace vramscope {

// They are rings of times: the first holds each of the last 1024 allocations, the next each 8th of
// the last 8192, and so on. A ring is made when it gets its first time. Without memory for rings
// every allocation is as old as the first.
// Threads: one at a time.
class BirthTimes {
 public:
  explicit BirthTimes(LiveMemory* live = nullptr) : times_({live, LivePart::birth_times}) {}

  // Notes that allocation `serial`, the next in order, began at `ns`.
  void note(std::uint64_t serial, std::uint64_t ns) noexcept {
    newest_ = serial;
    if (serial % kStride == 0 || times_.size() == 0) [[unlikely]]
      note_in_all(serial, ns);
    if (times_.size() != 0) times_[serial % kRing] = ns;
  }
  // Makes room for copy_from(). Returns false if memory is exhausted.
  [[nodiscard]] bool make_room() noexcept;
  // The array may extend beyond the rings to the end of a page; those elements are unused.
  [[nodiscard]] bool has_room_for(const BirthTimes& other) const {
    return other.times_.size() == 0 || times_.size() != 0;
  }
  // Copies all times of `other`, for which there is room.
  void copy_from(const BirthTimes& other) noexcept;

  // Returns the number of the last noted allocation; 0: none.
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  // Returns when a noted allocation began, or an earlier time.
  [[nodiscard]] std::uint64_t time_of(std::uint64_t serial) const noexcept;

 private:
  static constexpr std::size_t kRing = 1024;
  static constexpr unsigned kStrideBits = 3;
  static constexpr std::uint64_t kStride = std::uint64_t{1} << kStrideBits;
  static constexpr unsigned kLevels = 12;  // 2^43 allocations

  void note_in_all(std::uint64_t serial, std::uint64_t ns) noexcept;

  MappedArray<std::uint64_t> times_;  // level by level
  std::uint64_t first_ns_ = 0;
  std::uint64_t newest_ = 0;  // the last noted allocation
};

}  // namespace vramscope
