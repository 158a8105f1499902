// Stream-ordered allocation and its pools.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "test/simulator/device/managed_ranges.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

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

// Takes nothing but memory of graphs (cuda.h). The capture goes on after a refusal (OPEN.md).
CUresult free_in_capture(CUdeviceptr pointer, CUstream_st& stream) {
  NodeContent content{.parameters = parameters_for(CU_GRAPH_NODE_TYPE_MEM_FREE)};
  content.parameters.free.dptr = pointer;
  const CUresult result = make_content(content, graph_of_capture(stream));
  return result == CUDA_SUCCESS ? record_node(stream, std::move(content)) : result;
}

CUresult allocate(CUdeviceptr* pointer, std::size_t bytes, CUmemoryPool handle,
                  CUstream stream_of) {
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(stream_of);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const auto pool = driver().pools.find(handle);
  if (!pool || pool->imported) return CUDA_ERROR_INVALID_VALUE;
  if (capture_of(*stream)) return allocate_in_capture(pointer, bytes, pool->device, *stream);
  Device& device = *driver().devices[static_cast<std::size_t>(pool->device)];
  if (bytes > device.accounts.capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  PoolPiece piece = pool->take(bytes, stream.get());
  if (piece.result == CUDA_ERROR_OUT_OF_MEMORY && pool->max_bytes == 0 &&
      bytes > device.accounts.free_bytes()) {
    reclaim_from_pools(device, bytes);
    if (bytes <= device.accounts.free_bytes()) piece = pool->take(bytes, stream.get());
  }
  if (piece.result != CUDA_SUCCESS) return piece.result;
  driver().memory.add({.start = piece.start,
                       .bytes = bytes,
                       .kind = pool->managed ? Kind::managed : Kind::stream_ordered,
                       .device = pool->device,
                       .flags = pool->managed ? unsigned{CU_MEM_ATTACH_GLOBAL} : 0U,
                       .pool = handle});
  *pointer = piece.start;
  return CUDA_SUCCESS;
}

// The default pool of managed memory at one preferred location, and the one that is current there.
struct ManagedPools {
  std::shared_ptr<CUmemPoolHandle_st> original;
  CUmemoryPool current = nullptr;
};

// Guarded by Driver::mutex; by the device, or -1 for the host and nowhere in particular. All
// managed memory that prefers no device is the first one's.
ManagedPools& managed_pools(const CUmemLocation& location) {
  static auto& all = *new std::map<int, ManagedPools>;
  const bool on_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  ManagedPools& pools = all[on_device ? location.id : -1];
  if (!pools.original) {
    pools.original = std::make_shared<CUmemPoolHandle_st>(on_device ? location.id : 0, true);
    pools.original->managed = true;
    pools.current = driver().pools.add(pools.original);
  }
  return pools;
}

// Pinned pools live on devices here, on the host there are none; managed ones may prefer a place.
CUresult check(const CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_NOT_SUPPORTED;
  if (location->type == CU_MEM_LOCATION_TYPE_DEVICE) {
    return driver().device(location->id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
  }
  if (!managed) return CUDA_ERROR_NOT_SUPPORTED;
  return location->type == CU_MEM_LOCATION_TYPE_NONE || location->type == CU_MEM_LOCATION_TYPE_HOST
             ? CUDA_SUCCESS
             : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

namespace body {

// From the pool of the stream's device (cuda.h, cuDeviceSetMemPool).
CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  const auto found = resolve(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  return allocate(pointer, bytes, driver().device_of(found->context).current_pool, stream);
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
  if (const CUresult no = refuse_in_capture(); no != CUDA_SUCCESS) return no;  // mlx#2850
  const auto taken = driver().memory.take(pointer, [](const Allocation& allocation) {
    return allocation.kind == Kind::stream_ordered || allocation.is_plain() ||
           allocation.pool != nullptr;
  });
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  if (const auto unmapped = unmap_graph_allocation(pointer)) {
    return submit(*stream, [unmapped] { finish_free(*unmapped); });
  }
  if (taken->pool != nullptr) {
    if (taken->pool->managed) managed_ranges().forget(taken->start, taken->bytes);
    auto pending = taken->pool->give_later(taken->start, taken->bytes, stream.get());
    return submit(*stream, [pool = taken->pool, pending] { pool->finish(*pending); });
  }
  return submit(*stream, [gone = *taken] { driver().give_back(gone); });
}

CUresult cuMemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* properties) {
  constexpr unsigned kShareable = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (handle == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool managed = properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (!managed && properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((properties->handleTypes & ~kShareable) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult no = check(&properties->location, properties->allocType);
  if (no != CUDA_SUCCESS) return no;
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  auto pool = std::make_shared<CUmemPoolHandle_st>(on_device ? properties->location.id : 0, false);
  pool->managed = managed;
  pool->max_bytes = properties->maxSize;
  pool->handle_types = properties->handleTypes;
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
  pool->retire();
  Device& device = *driver().devices[static_cast<std::size_t>(pool->device)];
  const std::lock_guard lock(driver().mutex);
  if (device.current_pool == handle) device.current_pool = device.default_pool.get();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, std::size_t least) {
  const auto pool = driver().pools.find(handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  if (pool->handle_types != 0) return CUDA_SUCCESS;  // without effect (programming guide 4.3.3.4)
  pool->trim_to(least);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute name, void* value) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  const auto pool = driver().pools.find(handle);
  return pool && value != nullptr ? pool->get(name, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute name, void* value) {
  if (const CUresult refusal = refuse_in_capture(); refusal != CUDA_SUCCESS) return refusal;
  const auto pool = driver().pools.find(handle);
  return pool && value != nullptr ? pool->set(name, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                            CUmemLocation* location) {
  const auto pool = driver().pools.find(handle);
  if (!pool || flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *flags = pool->access_of(location->id);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access, std::size_t count) {
  const auto pool = driver().pools.find(handle);
  if (!pool || (access == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (driver().device(access[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const CUresult result = pool->set_access(access[i]);
    if (result != CUDA_SUCCESS) return result;
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
  if (!pool || pool->device != ordinal || pool->imported || pool->managed) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::lock_guard lock(driver().mutex);
  device->current_pool = handle;
  return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (const CUresult no = check(location, type); no != CUDA_SUCCESS) return no;
  if (type != CU_MEM_ALLOCATION_TYPE_MANAGED) {
    return body::cuDeviceGetDefaultMemPool(pool, location->id);
  }
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(driver().mutex);
  *pool = managed_pools(*location).original.get();
  return CUDA_SUCCESS;
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (const CUresult no = check(location, type); no != CUDA_SUCCESS) return no;
  if (type != CU_MEM_ALLOCATION_TYPE_MANAGED) return body::cuDeviceGetMemPool(pool, location->id);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(driver().mutex);
  ManagedPools& pools = managed_pools(*location);
  if (!driver().pools.find(pools.current)) pools.current = pools.original.get();  // was destroyed
  *pool = pools.current;
  return CUDA_SUCCESS;
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
  if (const CUresult no = check(location, type); no != CUDA_SUCCESS) return no;
  if (type != CU_MEM_ALLOCATION_TYPE_MANAGED) return body::cuDeviceSetMemPool(location->id, handle);
  const auto pool = driver().pools.find(handle);
  if (!pool || !pool->managed || pool->imported) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(driver().mutex);
  managed_pools(*location).current = handle;
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
