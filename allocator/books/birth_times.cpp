// Notes and finds allocation times.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/birth_times.h"

#include <algorithm>

#include "allocator/base/call_time.h"

namespace vramscope {

constinit thread_local std::uint64_t call_time_ns = 0;

void BirthTimes::note_in_all(std::uint64_t serial, std::uint64_t ns) noexcept {
  if (times_.size() == 0) first_ns_ = ns;
  if (!times_.grow_to(kRing)) return;
  for (unsigned level = 1; level < kLevels; ++level) {
    const unsigned shift = level * kStrideBits;
    if (serial % (std::uint64_t{1} << shift) != 0) return;
    if (!times_.grow_to((level + 1) * kRing)) return;
    times_[level * kRing + (serial >> shift) % kRing] = ns;
  }
}

bool BirthTimes::make_room() noexcept {
  if (!times_.grow_to(kRing * kLevels)) return false;
  for (std::size_t i = 0; i < kRing * kLevels; ++i) times_[i] = 0;  // touches the pages
  return true;
}

void BirthTimes::copy_from(const BirthTimes& other) noexcept {
  first_ns_ = other.first_ns_;
  newest_ = other.newest_;
  if (other.times_.size() == 0) return times_.clear();
  std::copy_n(&other.times_[0], std::min(other.times_.size(), kRing * kLevels), &times_[0]);
}

std::uint64_t BirthTimes::time_of(std::uint64_t serial) const noexcept {
  const std::uint64_t age = newest_ - serial;
  for (unsigned level = 0; level < kLevels && times_.size() >= (level + 1) * kRing; ++level) {
    const unsigned shift = level * kStrideBits;
    if (age >> shift >= kRing - 1) continue;  // overwritten since, or about to be
    const std::uint64_t entry = serial >> shift;
    // Numbers begin with 1: allocations before the first multiple count as made with the first.
    if (entry == 0) break;
    const std::uint64_t ns = times_[level * kRing + entry % kRing];
    if (ns != 0) return ns;  // 0: there was no memory for the ring then
  }
  return first_ns_;
}

}  // namespace vramscope
