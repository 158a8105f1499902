// FromBefore counts what a process held of its devices when Vramscope was attached, less what it
// has freed since. No call of that memory was recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "allocator/base/capability.h"
#include "allocator/base/place.h"
#include "interpose/table/functions.h"

namespace vramscope {

class CachingAllocator;

// Threads: any.
class FromBefore {
 public:
  // Takes the sum that `vramscope attach` left for a device, by NVML, with contexts and code.
  // Call it once a device, when it is first used. May throw bad_alloc.
  void begin(std::uint16_t device);
  // Whether there is such a sum of any device.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  // Returns what is left; nothing: there was no sum.
  [[nodiscard]] std::optional<std::uint64_t> bytes(std::uint16_t device) const;

  // What a sample found. The driver's pools are asked from the first stream-ordered call on that
  // is recorded.
  struct Sample {
    std::uint64_t outside_bytes = 0;   // used by nothing that is recorded
    std::uint64_t reserved_bytes = 0;  // by the pools; 0: they were not asked
    std::uint64_t idle_bytes = 0;      // of these: free
    std::uint64_t recorded_bytes = 0;  // of these: live and recorded
  };
  // When the pools are first asked, takes off what they had free before: what is free still, and
  // what recorded allocations have got of it, which is then missing from outside_bytes. Returns
  // whether the device has a sum.
  bool saw(std::uint16_t device, const Sample& sample) noexcept;

  // A block that the program is about to free.
  struct Block {
    std::uint16_t device = 0;
    std::uint64_t bytes = 0;  // 0: it was recorded, or the driver does not know it
  };
  // Asks the driver, on the program's thread, about a block that begins at `address`.
  [[nodiscard]] Block block_at(CachingAllocator& allocator, CUdeviceptr address) const noexcept;
  enum class To : bool { driver, pool };
  // Counts the block as freed. Returns false, and counts nothing, if a pool keeps it that was never
  // asked: saw() will.
  bool freed(const Block& block, To where) noexcept;

 private:
  struct Device {
    std::optional<std::uint64_t> bytes;
    std::uint64_t outside_bytes = 0;  // before the pools were asked
    bool saw_pools = false;
  };
  std::atomic<bool> any_{false};
  mutable SystemMutex mutex_;
  std::array<Device, kMaxDevices> devices_ VRAMSCOPE_GUARDED_BY(mutex_){};
};

}  // namespace vramscope
