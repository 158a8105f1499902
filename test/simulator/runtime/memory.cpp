// The small runtime: memory.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstring>

#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

namespace {

// Nothing was asked for: success without a call of the driver, as the real runtime does.
cudaError_t nothing(void** pointer) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  return cudaSuccess;
}

cudaError_t give(void** pointer, CUdeviceptr address, CUresult result) {
  if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<void*>(address);
  return error_of(result);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (pointer == nullptr || bytes == 0) return nothing(pointer);
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemAlloc(&address, bytes);
  return give(pointer, address, result);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  return error_of(the_driver().cuMemFree(device_pointer(pointer)));
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || bytes == 0) return nothing(pointer);
  return error_of(the_driver().cuMemHostAlloc(pointer, bytes, flags));
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return runtime::cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  return pointer == nullptr ? cudaSuccess : error_of(the_driver().cuMemFreeHost(pointer));
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return error_of(the_driver().cuMemHostRegister(pointer, bytes, flags));
}

cudaError_t cudaHostUnregister(void* pointer) {
  return error_of(the_driver().cuMemHostUnregister(pointer));
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (device == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemHostGetDevicePointer(&address, host, flags);
  return give(device, address, result);
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return error_of(the_driver().cuMemHostGetFlags(flags, host));
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemAllocManaged(&address, bytes, flags);
  return give(pointer, address, result);
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  if (width == 0 || height == 0) return nothing(pointer);
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemAllocPitch(&address, pitch, width, height, 4);
  return give(pointer, address, result);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (pitched == nullptr) return cudaErrorInvalidValue;
  *pitched = {.ptr = nullptr, .pitch = 0, .xsize = extent.width, .ysize = extent.height};
  return runtime::cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width,
                                  extent.height * extent.depth);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  if (pointer == nullptr || bytes == 0) return nothing(pointer);
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemAllocAsync(&address, bytes, stream);
  return give(pointer, address, result);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  if (pointer == nullptr || bytes == 0) return nothing(pointer);
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemAllocFromPoolAsync(&address, bytes, pool, stream);
  return give(pointer, address, result);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return cudaSuccess;
  return error_of(the_driver().cuMemFreeAsync(device_pointer(pointer), stream));
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return error_of(the_driver().cuMemGetInfo(free, total));
}

namespace {

// The driver's first generation of these calls, which all drivers have, knows devices and the host.
bool number_of(cudaMemLocation location, CUdevice* number) {
  const bool on_device = location.type == cudaMemLocationTypeDevice;
  *number = on_device ? location.id : CU_DEVICE_CPU;
  return on_device || location.type == cudaMemLocationTypeHost;
}

}  // namespace

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream) {
  CUdevice number = 0;
  if (flags != 0) return cudaErrorInvalidValue;
  if (!number_of(location, &number)) return cudaErrorNotSupported;
  return error_of(the_driver().cuMemPrefetchAsync(device_pointer(pointer), bytes, number, stream));
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  CUdevice number = 0;
  if (!number_of(location, &number)) return cudaErrorNotSupported;
  return error_of(the_driver().cuMemAdvise(device_pointer(pointer), bytes,
                                           static_cast<CUmem_advise>(advice), number));
}

cudaError_t cudaMemRangeGetAttribute(void* data, std::size_t size, cudaMemRangeAttribute name,
                                     const void* pointer, std::size_t bytes) {
  return error_of(the_driver().cuMemRangeGetAttribute(
      data, size, static_cast<CUmem_range_attribute>(name), device_pointer(pointer), bytes));
}

cudaError_t cudaMemRangeGetAttributes(void** data, std::size_t* sizes, cudaMemRangeAttribute* names,
                                      std::size_t count, const void* pointer, std::size_t bytes) {
  return error_of(the_driver().cuMemRangeGetAttributes(
      data, sizes, reinterpret_cast<CUmem_range_attribute*>(names), count, device_pointer(pointer),
      bytes));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr || pointer == nullptr) return cudaErrorInvalidValue;
  unsigned type = 0;
  unsigned managed = 0;
  int device = -2;
  CUdeviceptr on_device = 0;
  void* on_host = nullptr;
  std::array<CUpointer_attribute, 5> names = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
      CU_POINTER_ATTRIBUTE_HOST_POINTER};
  std::array<void*, 5> values = {&type, &managed, &device, &on_device, &on_host};
  const CUresult result = the_driver().cuPointerGetAttributes(
      names.size(), names.data(), values.data(), device_pointer(pointer));
  if (result != CUDA_SUCCESS) return error_of(result);
  // Until CUDA 12 the structure ends with hostPointer.
  constexpr std::size_t kCommon = offsetof(cudaPointerAttributes, hostPointer) + sizeof(void*);
  cudaPointerAttributes all = {};
  all.device = device;
  all.devicePointer = reinterpret_cast<void*>(on_device);
  all.hostPointer = on_host;
  all.type = managed != 0                   ? cudaMemoryTypeManaged
             : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
             : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                            : cudaMemoryTypeUnregistered;
  if (all.type == cudaMemoryTypeUnregistered) all.hostPointer = const_cast<void*>(pointer);
  std::memcpy(attributes, &all, kVersion < 13000 ? kCommon : sizeof all);
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  static_assert(sizeof(CUipcMemHandle) == sizeof(cudaIpcMemHandle_t));
  return error_of(the_driver().cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle),
                                                 device_pointer(pointer)));
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CUipcMemHandle driver_handle;
  std::memcpy(&driver_handle, &handle, sizeof(handle));
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuIpcOpenMemHandle(&address, driver_handle, flags);
  return give(pointer, address, result);
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return error_of(the_driver().cuIpcCloseMemHandle(device_pointer(pointer)));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  static_assert(sizeof(CUipcEventHandle) == sizeof(cudaIpcEventHandle_t));
  return error_of(
      the_driver().cuIpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(handle), event));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  CUipcEventHandle driver_handle;
  std::memcpy(&driver_handle, &handle, sizeof(handle));
  return error_of(the_driver().cuIpcOpenEventHandle(event, driver_handle));
}

}  // namespace cudart::runtime
