// PoolDevices knows the device of each of the program's pools, which may differ from the device of
// the stream that allocates from it. It also asks the driver how much memory the pools hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "allocator/base/capability.h"
#include "allocator/base/place.h"
#include "interpose/base/futex.h"
#include "interpose/table/functions.h"

namespace vramscope {

// The bytes that pools hold of a device (cuda.h, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), and how
// many of them count as used. Freed memory counts as used until its stream has reached the free.
struct PoolUse {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
};

// Threads: any. It asks the driver, and does not hold its own lock then.
class PoolDevices {
 public:
  void created(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept;
  // Call ending() before the driver destroys the pool, whose handle may be reused at once. It waits
  // for threads that ask about the pool, and lets nobody ask again. Then call destroyed() or
  // not_destroyed().
  using Number = std::uint64_t;
  struct Ending {
    Number newest = 0;
    bool was_asked = false;  // about
  };
  [[nodiscard]] Ending ending(CUmemoryPool pool) noexcept;
  void destroyed(CUmemoryPool pool, Ending ending) noexcept;
  void not_destroyed(CUmemoryPool pool, Ending ending) noexcept;

  // Notes that the device's default pool, or its current one, gave memory.
  void served(std::uint16_t device) noexcept {
    if (!knows_default_[device].load(std::memory_order_relaxed)) find_default(device);
  }
  // Surrounds a driver call that may reset the device; nobody asks about its pools meanwhile. After
  // happened() nobody asks about them again, and about the default pool only when it gives memory
  // again.
  class Reset {
   public:
    Reset(PoolDevices& pools, CUdevice device) noexcept;
    ~Reset();
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;
    void happened() noexcept;

   private:
    PoolDevices& pools_;
    const CUdevice device_;
    [[nodiscard]] bool is_known() const { return device_ >= 0 && device_ < int{kMaxDevices}; }
  };

  // Returns the sum for up to 32 known pools of the device. Call it on a thread of the program in a
  // call of its own, and not while a stream is captured.
  [[nodiscard]] PoolUse use(std::uint16_t device) noexcept;

  // Returns the device of a pool; nothing for an unknown pool or one on no device. Asks the driver
  // for its default pools.
  [[nodiscard]] std::optional<std::uint16_t> device_of(CUmemoryPool pool) noexcept;

 private:
  struct Pool {
    Number number = 0;
    std::uint16_t device = 0;
    bool may_ask = false;      // how much it holds
    std::uint32_t askers = 0;  // threads that are asking
  };
  using Pools = std::map<CUmemoryPool, Pool>;
  enum class Asked : bool { no, yes };
  void note(CUmemoryPool pool, std::uint16_t device, Asked asked) noexcept
      VRAMSCOPE_REQUIRES(mutex_);
  void find_default(std::uint16_t device) noexcept;
  [[nodiscard]] bool is_asked_about(std::uint16_t device) const VRAMSCOPE_REQUIRES(mutex_);
  // Waits until nobody asks about the pool, and prevents further questions. Returns whether it
  // could be asked about before.
  bool stop_asking(CUmemoryPool pool) noexcept;
  // Returns the next pool of the device after `last` that may be asked about, and counts the
  // question.
  [[nodiscard]] CUmemoryPool begin_asking(std::uint16_t device, CUmemoryPool last,
                                          Number& number) noexcept;
  void end_asking(CUmemoryPool pool, Number number) noexcept;

  static constexpr int kMostAsked = 32;

  std::array<std::atomic<bool>, kMaxDevices> knows_default_{};
  std::atomic<bool> any_{false};
  WaitableCounter turns_;  // raised when the last question about a pool ends
  mutable SystemMutex mutex_;
  // Running calls that may reset the device.
  std::array<std::uint32_t, kMaxDevices> resets_ VRAMSCOPE_GUARDED_BY(mutex_){};
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = 0;
  Pools pools_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
