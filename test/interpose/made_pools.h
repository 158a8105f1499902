// Handles that a test makes up, and what a driver says of such pools.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>

namespace vramscope {

template <class Handle>
Handle handle(std::uintptr_t value) {
  return reinterpret_cast<Handle>(value);
}

inline constexpr std::uintptr_t kDefaultPool = 0x40;  // of device 0; that of device 1 is the next

inline CUresult default_pool(CUmemoryPool* pool, CUdevice device) {
  if (device > 1) return CUDA_ERROR_INVALID_DEVICE;
  *pool = handle<CUmemoryPool>(kDefaultPool + static_cast<std::uintptr_t>(device));
  return CUDA_SUCCESS;
}

// Each pool has reserved as many bytes as its handle says, and uses one.
inline CUresult attribute_of_pool(CUmemoryPool pool, CUmemPool_attribute name, void* value) {
  const bool reserved = name == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
  *static_cast<cuuint64_t*>(value) = reserved ? reinterpret_cast<std::uintptr_t>(pool) : 1;
  return CUDA_SUCCESS;
}

}  // namespace vramscope
