// A history tells what a quantity was at the end of each interval of the run, counted in
// allocations, in bounded memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vramscope {

// Intervals that are over; when there are too many, two become one. All that look at the same time
// have the same intervals. A History of zero bytes is one of nothing.
// An instant is the number of the last allocation before it, of any kind, which does not depend on
// how fast the program ran. Threads: one at a time.
struct History {
  static constexpr std::size_t kIntervals = 8;
  static constexpr unsigned kFirstWidthBits = 2;  // 4 allocations

  std::array<std::uint64_t, kIntervals> last{};  // at the end of the interval
  std::uint32_t used = 0;
  std::uint32_t doublings = 0;  // of the interval

  // It was `before` since the last call; `at` never falls.
  void note(std::uint64_t at, std::uint64_t before) noexcept {
    if (at >> (kFirstWidthBits + doublings) != used) [[unlikely]]
      advance(at, before);
  }

  [[nodiscard]] std::uint64_t interval() const {
    return std::uint64_t{1} << (kFirstWidthBits + doublings);
  }

 private:
  void advance(std::uint64_t at, std::uint64_t before) noexcept;
};

}  // namespace vramscope
