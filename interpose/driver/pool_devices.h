// Pools of the program's and the device of each, which is not always that of the stream which takes
// memory from the pool; and what they have of it, by the driver's word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "allocator/ground/capability.h"
#include "allocator/ground/place.h"
#include "interpose/ground/futex.h"
#include "interpose/table/functions.h"

namespace vramscope {

// What pools have of a device (cuda.h, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), and what of that they
// count as used: memory that the program freed, too, until its stream has come so far.
struct PoolUse {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
};

// Threads: any. Asks the driver, never while its own lock is held.
class PoolDevices {
 public:
  void created(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept;
  // Before the driver destroys the pool, whose handle may come back at once: from here on nobody
  // asks about it, and who does is waited for. Then the one, or the other.
  using Number = std::uint64_t;
  struct Ending {
    Number newest = 0;
    bool was_asked = false;  // about
  };
  [[nodiscard]] Ending ending(CUmemoryPool pool) noexcept;
  void destroyed(CUmemoryPool pool, Ending ending) noexcept;
  void not_destroyed(CUmemoryPool pool, Ending ending) noexcept;

  // The device's own pool, or the one that the program made current there, served memory.
  void served(std::uint16_t device) noexcept {
    if (!knows_default_[device].load(std::memory_order_relaxed)) find_default(device);
  }
  // For the driver's call that may reset the device: nobody asks about its pools meanwhile. Once it
  // has, they may have ended: nobody asks about them any more, about its own until it serves again.
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

  // Of all pools of the device that are known; of more than 32 some are left out. To be asked on a
  // thread of the program in a call of its own, and not while a stream is captured.
  [[nodiscard]] PoolUse use(std::uint16_t device) noexcept;

  // Nothing: a pool on no device, or that nobody knows. Asks the driver for its default pools.
  [[nodiscard]] std::optional<std::uint16_t> device_of(CUmemoryPool pool) noexcept;

 private:
  struct Pool {
    Number number = 0;
    std::uint16_t device = 0;
    bool may_ask = false;      // about what it has
    std::uint32_t askers = 0;  // that are at it
  };
  using Pools = std::map<CUmemoryPool, Pool>;
  enum class Asked : bool { no, yes };
  void note(CUmemoryPool pool, std::uint16_t device, Asked asked) noexcept
      VRAMSCOPE_REQUIRES(mutex_);
  void find_default(std::uint16_t device) noexcept;
  [[nodiscard]] bool is_asked_about(std::uint16_t device) const VRAMSCOPE_REQUIRES(mutex_);
  // Until nobody asks about that one, and nobody will. True: somebody might have.
  bool stop_asking(CUmemoryPool pool) noexcept;
  // The next pool of the device behind `last` that may be asked about, and that it was.
  [[nodiscard]] CUmemoryPool begin_asking(std::uint16_t device, CUmemoryPool last,
                                          Number& number) noexcept;
  void end_asking(CUmemoryPool pool, Number number) noexcept;

  static constexpr int kMostAsked = 32;

  std::array<std::atomic<bool>, kMaxDevices> knows_default_{};
  std::atomic<bool> any_{false};
  WaitableCounter turns_;  // raised when nobody asks about some pool any more
  mutable SystemMutex mutex_;
  // By calls that may reset the device.
  std::array<std::uint32_t, kMaxDevices> resets_ VRAMSCOPE_GUARDED_BY(mutex_){};
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = 0;
  Pools pools_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
