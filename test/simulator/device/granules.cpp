// First fit in two levels: granules, and 512-byte steps inside the shared ones.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/granules.h"

#include <cassert>
#include <iterator>

namespace vramscope::simulator {

namespace {
// Twice the capacity in addresses: holes between live allocations must not look like exhaustion.
constexpr std::uint64_t kAddressesPerByte = 2;
}  // namespace

Granules::Granules(Address base, std::uint64_t capacity) : capacity_(capacity) {
  assert(base % kGranule == 0);
  free_granules_[base] = round_up(capacity, kGranule) * kAddressesPerByte;
}

std::optional<Address> Granules::take(std::uint64_t bytes) {
  if (bytes >= kOwnGranulesFrom) return take_granules(bytes);
  const std::uint64_t rounded = round_up(bytes, kSmallAlignment);
  for (auto& [granule, ranges] : shared_) {
    if (auto start = first_fit(ranges, rounded)) return start;
  }
  const auto granule = take_granules(kGranule);
  if (!granule) return std::nullopt;
  Ranges& ranges = shared_[*granule];
  ranges[*granule] = kGranule;
  return first_fit(ranges, rounded);
}

void Granules::give(Address start, std::uint64_t bytes) {
  if (bytes >= kOwnGranulesFrom) {
    put_back(free_granules_, start, round_up(bytes, kGranule));
    used_ -= round_up(bytes, kGranule);
    return;
  }
  const Address granule = start / kGranule * kGranule;
  Ranges& ranges = shared_.at(granule);
  put_back(ranges, start, round_up(bytes, kSmallAlignment));
  if (ranges.begin()->second != kGranule) return;
  shared_.erase(granule);
  put_back(free_granules_, granule, kGranule);
  used_ -= kGranule;
}

std::optional<Address> Granules::take_granules(std::uint64_t bytes) {
  if (bytes > capacity_ - used_) return std::nullopt;  // before rounding: huge sizes must not wrap
  const std::uint64_t rounded = round_up(bytes, kGranule);
  if (rounded > capacity_ - used_) return std::nullopt;
  const auto start = first_fit(free_granules_, rounded);
  if (start) used_ += rounded;
  return start;
}

std::optional<Address> Granules::first_fit(Ranges& ranges, std::uint64_t bytes) {
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    const auto [start, size] = *range;
    if (size < bytes) continue;
    ranges.erase(range);
    if (size > bytes) ranges[start + bytes] = size - bytes;
    return start;
  }
  return std::nullopt;
}

void Granules::put_back(Ranges& ranges, Address start, std::uint64_t bytes) {
  auto range = ranges.emplace(start, bytes).first;
  const auto next = std::next(range);
  if (next != ranges.end() && next->first == start + bytes) {
    range->second += next->second;
    ranges.erase(next);
  }
  if (range == ranges.begin()) return;
  const auto previous = std::prev(range);
  if (previous->first + previous->second != start) return;
  previous->second += range->second;
  ranges.erase(range);
}

}  // namespace vramscope::simulator
