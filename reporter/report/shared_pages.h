// SharedPages counts the driver's pages of 2 MiB that hold small allocations, and their free
// memory. The driver packs allocations up to 1 MiB, and takes no page back while an allocation
// lives in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/driver_pages.h"
#include "allocator/base/place.h"

namespace vramscope {

struct Snapshot;

// Threads: one at a time.
class SharedPages {
 public:
  // Counts an allocation. Allocations must be added in the order of their addresses.
  void add(Address address, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t bytes() const { return pages_ * kDriverPage; }
  // Returns how many more bytes the pages take than if the allocations were packed without gaps.
  [[nodiscard]] std::uint64_t gaps() const;

 private:
  std::uint64_t next_ = 0;  // the first page behind those that were counted
  std::uint64_t pages_ = 0;
  std::uint64_t bytes_ = 0;  // of the allocations
};

// Returns gaps() for a device's plain memory that came directly from the driver.
[[nodiscard]] std::uint64_t gaps_on(const Snapshot& memory, std::uint16_t device);

}  // namespace vramscope
