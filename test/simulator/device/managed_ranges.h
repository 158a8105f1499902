// ManagedRanges holds what a program advised about its managed memory, page by page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "allocator/base/place.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

inline constexpr CUmemLocation kNowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0};

// Is kept for queries, and has no effect on where bytes are.
struct Advice {
  bool read_mostly = false;
  CUmemLocation preferred = kNowhere;
  CUmemLocation prefetched = kNowhere;
  std::set<CUdevice> accessed_by;
};

// Threads: any.
class ManagedRanges {
 public:
  // Ranges are widened to whole pages. Callers have checked that they lie in managed memory.
  void change(Address start, std::uint64_t bytes, const std::function<void(Advice&)>& how);
  void look(Address start, std::uint64_t bytes, const std::function<void(const Advice&)>& at) const;
  // Forgets all advice, since the memory is gone.
  void forget(Address start, std::uint64_t bytes);

 private:
  void split(Address at);

  mutable std::mutex mutex_;                 // guards the below
  std::map<Address, Advice> from_{{0, {}}};  // each holds up to the next
};

ManagedRanges& managed_ranges();

}  // namespace vramscope::simulator
