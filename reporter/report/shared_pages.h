// SharedPages counts the driver's pages of 2 MiB in which small allocations lie, and what is free
// in them: the driver packs allocations up to 1 MiB, and has no page back while one lives in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/ground/driver_pages.h"
#include "allocator/ground/place.h"

namespace vramscope {

struct Snapshot;

// Threads: one at a time.
class SharedPages {
 public:
  // In the order of their addresses.
  void add(Address address, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t bytes() const { return pages_ * kDriverPage; }
  // That they take besides what would be, if they were packed without a gap.
  [[nodiscard]] std::uint64_t gaps() const;

 private:
  std::uint64_t next_ = 0;  // the first page behind those that were counted
  std::uint64_t pages_ = 0;
  std::uint64_t bytes_ = 0;  // of the allocations
};

// Of plain memory of a device as it came from the driver.
[[nodiscard]] std::uint64_t gaps_on(const Snapshot& memory, std::uint16_t device);

}  // namespace vramscope
