// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/pool_devices.h"

#include <new>

#include "allocator/ground/place.h"
#include "interpose/loader/real.h"

namespace vramscope {

void PoolDevices::note(CUmemoryPool pool, std::uint16_t device) noexcept {
  try {
    pools_[pool] = {.number = ++newest_, .device = device};
  } catch (const std::bad_alloc&) {
    // Its memory then counts on the device of the stream.
  }
}

void PoolDevices::created(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept {
  const CUmemLocation& location = properties.location;
  const bool on_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 &&
                         location.id < int{kMaxDevices};
  const SystemLock lock(mutex_);
  pools_.erase(pool);  // what the handle was before has ended
  if (on_device) note(pool, static_cast<std::uint16_t>(location.id));
}

PoolDevices::Number PoolDevices::newest() const noexcept {
  const SystemLock lock(mutex_);
  return newest_;
}

void PoolDevices::destroyed(CUmemoryPool pool, Number newest) noexcept {
  const SystemLock lock(mutex_);
  const auto it = pools_.find(pool);
  if (it != pools_.end() && it->second.number <= newest) pools_.erase(it);
}

std::optional<std::uint16_t> PoolDevices::device_of(CUmemoryPool pool) noexcept {
  {
    const SystemLock lock(mutex_);
    if (const auto it = pools_.find(pool); it != pools_.end()) return it->second.device;
  }
  for (std::uint16_t device = 0; device < kMaxDevices; ++device) {
    CUmemoryPool its_own = nullptr;
    if (real().cuDeviceGetDefaultMemPool(&its_own, device) != CUDA_SUCCESS) break;
    if (its_own != pool) continue;
    const SystemLock lock(mutex_);
    note(pool, device);
    return device;
  }
  return std::nullopt;
}

}  // namespace vramscope
