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
  // Takes the sums that `vramscope attach` left, by NVML, with contexts and code. Call it once,
  // when the driver is initialised. May throw bad_alloc.
  void begin();
  // Whether anything is left of such a sum.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  // Returns what is left; nothing: there was no sum.
  [[nodiscard]] std::optional<std::uint64_t> bytes(std::uint16_t device) const;

  // What a sample found. The driver's pools are asked from the first stream-ordered call on that
  // is recorded.
  struct Sample {
    std::uint64_t outside_bytes = 0;   // used by nothing that is recorded
    std::uint64_t reserved_bytes = 0;  // by the pools; 0: they were not asked
    std::uint64_t idle_bytes = 0;      // of these: free
  };
  // When the pools are first asked, takes off what they had free at the attachment. Until then a
  // recorded allocation from that memory lowers outside_bytes, and one for which a pool grows
  // raises it by what the pool got beyond the request.
  void saw(std::uint16_t device, const Sample& sample) noexcept;

  // A block that the program is about to free.
  struct Block {
    std::uint16_t device = 0;
    std::uint64_t bytes = 0;  // 0: it is not from before, or the driver does not tell
    bool is_pooled = false;   // a pool keeps it
  };
  // Asks the driver, on the program's thread, about the block that is freed if the program's call
  // succeeds. Leaves managed memory out, whose pages may be on the host.
  [[nodiscard]] Block block_at(CachingAllocator& allocator, CUdeviceptr address) const noexcept;
  void freed(const Block& block) noexcept;
  // Notes that a context that was there before has ended. Returns what it had, taken to be all.
  std::uint64_t ended(std::uint16_t device) noexcept;

 private:
  struct Device {
    std::optional<std::uint64_t> bytes;
    std::uint64_t outside_bytes = 0;  // in the last sample before `pooled_bytes` and saw_pools
    std::uint64_t pooled_bytes = 0;   // freed to pools before saw_pools
    bool saw_pools = false;
  };
  void set_any() noexcept VRAMSCOPE_REQUIRES(mutex_);

  std::atomic<bool> any_{false};
  mutable SystemMutex mutex_;
  std::array<Device, kMaxDevices> devices_ VRAMSCOPE_GUARDED_BY(mutex_){};
};

}  // namespace vramscope
