// Pools of the program's and the device of each, which is not always that of the stream which takes
// memory from the pool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "allocator/ground/capability.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Threads: any.
class PoolDevices {
 public:
  void created(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept;
  // Take the number before the driver destroys the pool: its handle may come back at once.
  using Number = std::uint64_t;
  [[nodiscard]] Number newest() const noexcept;
  void destroyed(CUmemoryPool pool, Number newest) noexcept;

  // Nothing: a pool on no device, or that nobody knows. Asks the driver for its default pools.
  [[nodiscard]] std::optional<std::uint16_t> device_of(CUmemoryPool pool) noexcept;

 private:
  struct Pool {
    Number number = 0;
    std::uint16_t device = 0;
  };
  void note(CUmemoryPool pool, std::uint16_t device) noexcept VRAMSCOPE_REQUIRES(mutex_);

  mutable SystemMutex mutex_;
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = 0;
  std::map<CUmemoryPool, Pool> pools_ VRAMSCOPE_GUARDED_BY(mutex_);
};

}  // namespace vramscope
