// Counts how often the program has each piece of imported memory open: an IPC handle that is opened
// again gives the same address, and the memory goes with the last close.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <new>

#include "allocator/ground/capability.h"
#include "allocator/ground/place.h"

namespace vramscope {

// Threads: any.
class ImportCounts {
 public:
  // Opened: gives how often it is open now; 1 also when our own memory is exhausted.
  [[nodiscard]] std::uint64_t add(Address address) noexcept {
    const SystemLock lock(mutex_);
    try {
      return ++counts_[address];
    } catch (const std::bad_alloc&) {
      return 1;
    }
  }
  // Opened anew: what was open there ended with its context.
  void begin_again(Address address) noexcept {
    const SystemLock lock(mutex_);
    if (const auto it = counts_.find(address); it != counts_.end()) it->second = 1;
  }
  // Closed: gives how often it is still open.
  [[nodiscard]] std::uint64_t remove(Address address) noexcept {
    const SystemLock lock(mutex_);
    const auto it = counts_.find(address);
    if (it == counts_.end()) return 0;
    if (--it->second > 0) return it->second;
    counts_.erase(it);
    return 0;
  }

 private:
  SystemMutex mutex_;
  std::map<Address, std::uint64_t> counts_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
