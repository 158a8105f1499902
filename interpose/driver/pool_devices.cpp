// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/pool_devices.h"

#include <new>

#include "interpose/loader/real.h"

namespace vramscope {
namespace {

std::uint64_t attribute_of(CUmemoryPool pool, CUmemPool_attribute name) {
  cuuint64_t bytes = 0;
  return real().cuMemPoolGetAttribute(pool, name, &bytes) == CUDA_SUCCESS ? bytes : 0;
}

}  // namespace

void PoolDevices::note(CUmemoryPool pool, std::uint16_t device, Asked asked) noexcept {
  try {
    Pool& known = pools_[pool];
    if (known.number == 0) known.number = ++newest_;
    known.device = device;
    known.may_ask = asked == Asked::yes;
    if (known.may_ask) any_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    // Without memory: the pool's memory counts on the stream's device.
  }
}

// Managed memory may be on the host, whatever device its pool prefers.
void PoolDevices::created(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept {
  const CUmemLocation& location = properties.location;
  const bool on_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id >= 0 &&
                         location.id < int{kMaxDevices};
  const bool stays = properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
  const SystemLock lock(mutex_);
  pools_.erase(pool);  // an earlier pool with this handle has ended
  if (!on_device) return;
  note(pool, static_cast<std::uint16_t>(location.id), stays ? Asked::yes : Asked::no);
}

PoolDevices::Ending PoolDevices::ending(CUmemoryPool pool) noexcept {
  const bool was_asked = stop_asking(pool);
  const SystemLock lock(mutex_);
  return {newest_, was_asked};
}

void PoolDevices::destroyed(CUmemoryPool pool, Ending ending) noexcept {
  const SystemLock lock(mutex_);
  const auto it = pools_.find(pool);
  if (it != pools_.end() && it->second.number <= ending.newest) pools_.erase(it);
}

void PoolDevices::not_destroyed(CUmemoryPool pool, Ending ending) noexcept {
  const SystemLock lock(mutex_);
  const auto it = pools_.find(pool);
  const bool is_same = it != pools_.end() && it->second.number <= ending.newest;
  if (is_same && ending.was_asked) it->second.may_ask = true;
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
    note(pool, device, Asked::yes);
    return device;
  }
  return std::nullopt;
}

void PoolDevices::find_default(std::uint16_t device) noexcept {
  CUmemoryPool pool = nullptr;
  if (real().cuDeviceGetDefaultMemPool(&pool, device) != CUDA_SUCCESS) return;
  const SystemLock lock(mutex_);
  note(pool, device, Asked::yes);
  knows_default_[device].store(true, std::memory_order_relaxed);
}

bool PoolDevices::is_asked_about(std::uint16_t device) const {
  for (const auto& [handle, pool] : pools_) {
    if (pool.device == device && pool.askers != 0) return true;
  }
  return false;
}

PoolDevices::Reset::Reset(PoolDevices& pools, CUdevice device) noexcept
    : pools_(pools), device_(device) {
  if (!is_known()) return;
  {
    const SystemLock lock(pools_.mutex_);
    ++pools_.resets_[static_cast<std::size_t>(device_)];
  }
  for (;;) {
    const std::uint32_t turn = pools_.turns_.value();
    {
      const SystemLock lock(pools_.mutex_);
      if (!pools_.is_asked_about(static_cast<std::uint16_t>(device_))) return;
    }
    pools_.turns_.wait_beyond(turn);
  }
}

PoolDevices::Reset::~Reset() {
  if (!is_known()) return;
  const SystemLock lock(pools_.mutex_);
  --pools_.resets_[static_cast<std::size_t>(device_)];
}

void PoolDevices::Reset::happened() noexcept {
  if (!is_known()) return;
  pools_.knows_default_[static_cast<std::size_t>(device_)].store(false, std::memory_order_relaxed);
  const SystemLock lock(pools_.mutex_);
  for (auto& [handle, pool] : pools_.pools_) {
    if (pool.device == device_) pool.may_ask = false;
  }
}

bool PoolDevices::stop_asking(CUmemoryPool pool) noexcept {
  for (bool was_asked = false;;) {
    const std::uint32_t turn = turns_.value();
    {
      const SystemLock lock(mutex_);
      const auto it = pools_.find(pool);
      if (it == pools_.end()) return was_asked;
      was_asked = was_asked || it->second.may_ask;
      it->second.may_ask = false;
      if (it->second.askers == 0) return was_asked;
    }
    turns_.wait_beyond(turn);
  }
}

CUmemoryPool PoolDevices::begin_asking(std::uint16_t device, CUmemoryPool last,
                                       Number& number) noexcept {
  const SystemLock lock(mutex_);
  if (resets_[device] != 0) return nullptr;
  for (auto it = pools_.upper_bound(last); it != pools_.end(); ++it) {
    Pool& pool = it->second;
    if (pool.device != device || !pool.may_ask) continue;
    ++pool.askers;
    number = pool.number;
    return it->first;
  }
  return nullptr;
}

void PoolDevices::end_asking(CUmemoryPool pool, Number number) noexcept {
  {
    const SystemLock lock(mutex_);
    const auto it = pools_.find(pool);
    if (it == pools_.end() || it->second.number != number) return;
    const bool is_awaited = !it->second.may_ask || resets_[it->second.device] != 0;
    if (--it->second.askers != 0 || !is_awaited) return;
  }
  turns_.raise();
}

PoolUse PoolDevices::use(std::uint16_t device) noexcept {
  PoolUse use;
  const bool can_ask =
      any_.load(std::memory_order_relaxed) && real().cuMemPoolGetAttribute != nullptr;
  CUmemoryPool pool = nullptr;
  for (int asked = 0; can_ask && asked < kMostAsked; ++asked) {
    Number number = 0;
    pool = begin_asking(device, pool, number);
    if (pool == nullptr) break;
    use.reserved_bytes += attribute_of(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    use.used_bytes += attribute_of(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    end_asking(pool, number);
  }
  return use;
}

}  // namespace vramscope
