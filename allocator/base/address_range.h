// A range of addresses that only grows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

// Writers hold a lock; readers need none. It answers "not ours" for most foreign addresses.
struct AddressRange {
  std::atomic<Address> lowest{~Address{0}};
  std::atomic<Address> end{0};

  [[nodiscard]] bool contains(Address address) const noexcept {
    return address >= lowest.load(std::memory_order_acquire) &&
           address < end.load(std::memory_order_acquire);
  }
  void widen(Address address, std::uint64_t bytes) noexcept {
    if (address < lowest.load(std::memory_order_relaxed)) {
      lowest.store(address, std::memory_order_release);
    }
    if (address + bytes > end.load(std::memory_order_relaxed)) {
      end.store(address + bytes, std::memory_order_release);
    }
  }
};

}  // namespace vramscope
