// A watch measures a device's memory as long as it exists, and leaves the statistics alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/books/device_watches.h"
#include "allocator/caching_allocator.h"

namespace vramscope {

// The allocator must outlive it. Threads: any. While there are watches, each allocation and free
// costs a few nanoseconds more for each.
class CachingAllocator::Watch {
 public:
  Watch(CachingAllocator& allocator, std::uint16_t device) noexcept;
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns the figures of one instant.
  [[nodiscard]] DeviceWatch read() const noexcept;

 private:
  CachingAllocator& allocator_;
  OpenWatch watch_;
};

}  // namespace vramscope
