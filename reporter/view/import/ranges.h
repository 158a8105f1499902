// Ranges is a set of addresses, stored as the fewest possible ranges.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>

#include "allocator/base/place.h"

namespace vramscope {

// Threads: one. May throw bad_alloc.
class Ranges {
 public:
  // Bytes above the last address do not count.
  [[nodiscard]] static Address end_of(Address begin, std::uint64_t bytes) {
    return begin + std::min(bytes, std::numeric_limits<Address>::max() - begin);
  }

  [[nodiscard]] bool touches(Address begin, std::uint64_t bytes) const {
    const auto next = ranges_.lower_bound(end_of(begin, bytes));
    return next != ranges_.begin() && std::prev(next)->second > begin;
  }

  // Returns how many of the bytes were already in the set.
  std::uint64_t add(Address begin, std::uint64_t bytes) {
    if (bytes == 0) return 0;
    const std::uint64_t known = remove(begin, bytes);
    Address end = end_of(begin, bytes);
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.end() && next->first == end) {
      end = next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      ranges_.emplace_hint(next, begin, end);
    }
    return known;
  }

  // Returns how many of the bytes were in the set.
  std::uint64_t remove(Address begin, std::uint64_t bytes) {
    const Address end = end_of(begin, bytes);
    std::uint64_t known = 0;
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second > begin) --next;
    while (next != ranges_.end() && next->first < end) {
      const auto [first, last] = *next;
      next = ranges_.erase(next);
      known += std::min(last, end) - std::max(first, begin);
      if (first < begin) ranges_.emplace(first, begin);
      if (last > end) ranges_.emplace(end, last);
    }
    return known;
  }

  // Calls f(begin, bytes) for each range, in order.
  template <class F>
  void each(F&& f) const {
    for (const auto& [first, last] : ranges_) f(first, last - first);
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    each([&](Address, std::uint64_t bytes) { sum += bytes; });
    return sum;
  }

 private:
  std::map<Address, Address> ranges_;  // ends of the ranges, by their beginnings
};

}  // namespace vramscope
