// Where a driver puts allocations: whole 2 MiB granules for large ones, shared ones for small.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "allocator/ground/place.h"

namespace vramscope::simulator {

inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;  // page size of device memory
inline constexpr std::uint64_t kOwnGranulesFrom = std::uint64_t{1} << 20;  // smaller ones share
inline constexpr std::uint64_t kSmallAlignment = 512;                      // seen since Kepler

inline constexpr std::uint64_t kHostPage = 4096;

// Of the host.
inline Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

// First fit over an address range that may grow without end; freed addresses come back.
// Threads: one at a time; the owner locks.
class Granules {
 public:
  // At most `capacity` bytes, in whole granules, live at `base` and above.
  Granules(Address base, std::uint64_t capacity);

  // The start of `bytes` > 0 bytes, or nothing when not enough granules are free.
  [[nodiscard]] std::optional<Address> take(std::uint64_t bytes);
  // `bytes` must be what was asked for when `start` was taken.
  void give(Address start, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t used_bytes() const { return used_; }

  using Ranges = std::map<Address, std::uint64_t>;  // start -> bytes, never touching each other
  static std::optional<Address> first_fit(Ranges& ranges, std::uint64_t bytes);
  static void put_back(Ranges& ranges, Address start, std::uint64_t bytes);

 private:
  std::optional<Address> take_granules(std::uint64_t bytes);

  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  Ranges free_granules_;
  std::map<Address, Ranges> shared_;  // granules with small allocations -> their free ranges
};

}  // namespace vramscope::simulator
