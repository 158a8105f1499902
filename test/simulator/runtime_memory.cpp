// Allocation, free, pools and questions about pointers.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime.h"

namespace vramscope::simulator::runtime {

namespace {

CUdeviceptr* out(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }

// Zero bytes never reach the driver (reference section 4, row 3).
template <class Allocate>
cudaError_t unless_empty(void** pointer, size_t bytes, Allocate allocate) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (bytes == 0) {
    *pointer = nullptr;
    return cudaSuccess;
  }
  return error_of(allocate());
}

constexpr unsigned kPitchElement = 4;  // any of 4, 8, 16 gives the same pitch

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return unless_empty(pointer, bytes, [&] { return the_driver().cuMemAlloc(out(pointer), bytes); });
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  return error_of(the_driver().cuMemFree(device_pointer(pointer)));
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return unless_empty(pointer, bytes,
                      [&] { return the_driver().cuMemHostAlloc(pointer, bytes, flags); });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return runtime::cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  return error_of(the_driver().cuMemFreeHost(pointer));
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return error_of(the_driver().cuMemHostRegister(pointer, bytes, flags));
}
cudaError_t cudaHostUnregister(void* pointer) {
  return error_of(the_driver().cuMemHostUnregister(pointer));
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return error_of(the_driver().cuMemHostGetDevicePointer(out(device), host, flags));
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  return error_of(the_driver().cuMemHostGetFlags(flags, pointer));
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return error_of(the_driver().cuMemAllocManaged(out(pointer), bytes, flags));
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr) return cudaErrorInvalidValue;
  if (width == 0 || height == 0) *pitch = 0;
  return unless_empty(pointer, width == 0 ? 0 : height, [&] {
    return the_driver().cuMemAllocPitch(out(pointer), pitch, width, height, kPitchElement);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return runtime::cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width,
                                  extent.height * extent.depth);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return unless_empty(pointer, bytes,
                      [&] { return the_driver().cuMemAllocAsync(out(pointer), bytes, stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return unless_empty(pointer, bytes, [&] {
    return the_driver().cuMemAllocFromPoolAsync(out(pointer), bytes, pool, stream);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return cudaSuccess;
  return error_of(the_driver().cuMemFreeAsync(device_pointer(pointer), stream));
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return error_of(the_driver().cuMemGetInfo(free, total));
}

// The vendor keeps both property structs in one layout (driver_types.h, cuda.h).
static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return error_of(
      the_driver().cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties)));
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return error_of(the_driver().cuMemPoolDestroy(pool));
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  return error_of(the_driver().cuMemPoolTrimTo(pool, bytes));
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr name, void* value) {
  return error_of(
      the_driver().cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(name), value));
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr name, void* value) {
  return error_of(
      the_driver().cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(name), value));
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                 unsigned, cudaStream_t stream) {
  const CUdevice where = location.type == cudaMemLocationTypeHost ? CU_DEVICE_CPU : location.id;
  return error_of(the_driver().cuMemPrefetchAsync(device_pointer(pointer), bytes, where, stream));
}

// A pointer that no driver knows is unregistered host memory, not an error (since CUDA 11).
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  unsigned type = 0;
  int device = cudaInvalidDeviceId;
  bool managed = false;
  CUdeviceptr on_device = 0;
  CUpointer_attribute names[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
  void* values[] = {&type, &device, &managed, &on_device};
  const CUresult result =
      the_driver().cuPointerGetAttributes(4, names, values, device_pointer(pointer));
  if (result != CUDA_SUCCESS) return error_of(result);
  auto* address = const_cast<void*>(pointer);
  *attributes = {};
  attributes->type = managed                        ? cudaMemoryTypeManaged
                     : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                     : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeUnregistered;
  attributes->device =
      attributes->type == cudaMemoryTypeUnregistered ? cudaInvalidDeviceId : device;
  attributes->devicePointer = reinterpret_cast<void*>(on_device);
  attributes->hostPointer = attributes->type == cudaMemoryTypeDevice ? nullptr : address;
  return cudaSuccess;
}

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return error_of(the_driver().cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle),
                                                 device_pointer(pointer)));
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  CUipcMemHandle same;
  static_assert(sizeof same == sizeof handle);
  __builtin_memcpy(&same, &handle, sizeof same);
  return error_of(the_driver().cuIpcOpenMemHandle(out(pointer), same, flags));
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return error_of(the_driver().cuIpcCloseMemHandle(device_pointer(pointer)));
}

}  // namespace vramscope::simulator::runtime
