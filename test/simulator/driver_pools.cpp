// Stream-ordered allocation and its pools. A pool caches nothing: what is freed goes back to the
// device when the stream gets there.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "test/simulator/driver.h"

namespace vramscope::simulator {

namespace {

// Reserves the pool's account first: two threads must not pass its limit together.
CUresult charge(CUmemPoolHandle_st& pool, std::uint64_t bytes) {
  const std::lock_guard lock(pool.mutex);
  if (pool.max_bytes != 0 && bytes > pool.max_bytes - std::min(pool.used, pool.max_bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  pool.used += bytes;
  return CUDA_SUCCESS;
}

void raise_peaks(CUmemPoolHandle_st& pool) {
  const std::lock_guard lock(pool.mutex);
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, round_up(pool.used, kGranule));
}

void refund(CUmemPoolHandle_st& pool, std::uint64_t bytes) {
  const std::lock_guard lock(pool.mutex);
  pool.used -= bytes;
}

// Memory of the graph, with the properties of the pool (cuda.h).
CUresult allocate_in_capture(CUdeviceptr* pointer, std::size_t bytes, int device,
                             CUstream_st& stream) {
  NodeContent content{.parameters = parameters_for(CU_GRAPH_NODE_TYPE_MEM_ALLOC)};
  content.parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  content.parameters.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  content.parameters.alloc.bytesize = bytes;
  const CUresult result = make_content(content, graph_of_capture(stream));
  if (result != CUDA_SUCCESS) return result;
  const CUdeviceptr address = content.parameters.alloc.dptr;
  const CUresult recorded = record_node(stream, std::move(content));
  if (recorded == CUDA_SUCCESS) *pointer = address;
  return recorded;
}

// Takes nothing but memory of graphs (cuda.h).
CUresult free_in_capture(CUdeviceptr pointer, CUstream_st& stream) {
  NodeContent content{.parameters = parameters_for(CU_GRAPH_NODE_TYPE_MEM_FREE)};
  content.parameters.free.dptr = pointer;
  const CUresult result = make_content(content, graph_of_capture(stream));
  if (result == CUDA_SUCCESS) return record_node(stream, std::move(content));
  (void)refuse_while_capturing(stream);
  return result;
}

CUresult allocate(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool handle,
                  CUstream stream_of) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(stream_of);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const auto pool = driver().pools.find(handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  if (capture_of(*stream)) return allocate_in_capture(pointer, bytes, pool->device, *stream);
  if (bytes > driver().devices[static_cast<std::size_t>(pool->device)]->accounts.capacity()) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::uint64_t charged = round_up(bytes, kSmallAlignment);
  if (const CUresult full = charge(*pool, charged); full != CUDA_SUCCESS) return full;
  Device& device = *driver().devices[static_cast<std::size_t>(pool->device)];
  const Grant grant = device.accounts.allocate(Memory::device, bytes);
  if (!grant.status.ok()) {
    refund(*pool, charged);
    return result_of(grant.status);
  }
  raise_peaks(*pool);
  driver().memory.add({.start = grant.address,
                       .bytes = bytes,
                       .kind = Kind::stream_ordered,
                       .device = pool->device,
                       .pool = handle});
  *pointer = grant.address;
  return CUDA_SUCCESS;
}

cuuint64_t* counter(CUmemPoolHandle_st& pool, CUmemPool_attribute name) {
  switch (name) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool.release_threshold;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.used_high;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.reserved_high;
    default:
      return nullptr;
  }
}

int* reuse_flag(CUmemPoolHandle_st& pool, CUmemPool_attribute name) {
  const int at = int{name} - int{CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES};
  return at >= 0 && at < 3 ? &pool.reuse[at] : nullptr;
}

}  // namespace

namespace body {

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  CUmemoryPool pool = driver().device_of(current_context()).current_pool;
  return allocate(pointer, bytes, pool, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return allocate(pointer, bytes, pool, stream);
}

// Memory of cuMemAlloc is welcome too, as the programming guide says. The address is dead for the
// program at once, and free for others when the stream gets there.
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (capture_of(*stream)) return free_in_capture(pointer, *stream);
  if (const CUresult no = refuse_implicit(*stream); no != CUDA_SUCCESS) return no;
  const auto taken = driver().memory.take(pointer, [](const Allocation& allocation) {
    return allocation.kind == Kind::stream_ordered || allocation.is_plain();
  });
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  if (const auto unmapped = unmap_graph_allocation(pointer)) {
    return submit(*stream, [unmapped] { remove_user(*unmapped); });
  }
  return submit(*stream, [gone = *taken] { driver().give_back(gone); });
}

CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* properties) {
  if (handle == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  if (driver().device(properties->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  auto pool = std::make_shared<CUmemPoolHandle_st>();
  pool->device = properties->location.id;
  pool->max_bytes = properties->maxSize;
  *handle = driver().pools.add(std::move(pool));
  return CUDA_SUCCESS;
}

// Destroying a device's current pool makes its default pool current again (cuda.h). Memory that is
// still allocated stays valid; the pool object lives as long as the process.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  const auto pool = driver().pools.find(handle);
  if (!pool || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  if (!driver().pools.remove(handle)) return CUDA_ERROR_INVALID_VALUE;
  static auto& ended = *new Handles<CUmemPoolHandle_st>;
  ended.add(pool);
  Device& device = *driver().devices[static_cast<std::size_t>(pool->device)];
  const std::lock_guard lock(driver().mutex);
  if (device.current_pool == handle) device.current_pool = device.default_pool.get();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
  return driver().pools.find(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute name, void* value) {
  const auto pool = driver().pools.find(handle);
  if (!pool || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  if (const int* flag = reuse_flag(*pool, name)) {
    *static_cast<int*>(value) = *flag;
    return CUDA_SUCCESS;
  }
  auto& number = *static_cast<cuuint64_t*>(value);
  if (const cuuint64_t* kept = counter(*pool, name)) {
    number = *kept;
  } else if (name == CU_MEMPOOL_ATTR_USED_MEM_CURRENT) {
    number = pool->used;
  } else if (name == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) {
    number = round_up(pool->used, kGranule);
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// The high-water marks can only be reset, to what is in use now (cuda.h).
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute name, void* value) {
  const auto pool = driver().pools.find(handle);
  if (!pool || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pool->mutex);
  if (int* flag = reuse_flag(*pool, name)) {
    *flag = *static_cast<int*>(value);
    return CUDA_SUCCESS;
  }
  const cuuint64_t number = *static_cast<cuuint64_t*>(value);
  if (name == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    pool->release_threshold = number;
    return CUDA_SUCCESS;
  }
  if (number != 0) return CUDA_ERROR_INVALID_VALUE;
  if (name == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
    pool->used_high = pool->used;
  } else if (name == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) {
    pool->reserved_high = round_up(pool->used, kGranule);
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  if (!driver().pools.find(pool) || flags == nullptr || location == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) {
  if (!driver().pools.find(pool) || (access == nullptr && count != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  Device* device = driver().device(ordinal);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *pool = device->default_pool.get();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  Device* device = driver().device(ordinal);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(driver().mutex);
  *pool = device->current_pool;
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  Device* device = driver().device(ordinal);
  const auto pool = driver().pools.find(handle);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (!pool || pool->device != ordinal) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(driver().mutex);
  device->current_pool = handle;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
