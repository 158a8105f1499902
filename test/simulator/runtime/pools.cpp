// The small runtime: pools of stream-ordered memory.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps));
  return error_of(
      the_driver().cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties)));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return error_of(the_driver().cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep) {
  return error_of(the_driver().cuMemPoolTrimTo(pool, keep));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return error_of(
      the_driver().cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return error_of(
      the_driver().cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted,
                                 std::size_t count) {
  static_assert(sizeof(CUmemAccessDesc) == sizeof(cudaMemAccessDesc));
  return error_of(the_driver().cuMemPoolSetAccess(
      pool, reinterpret_cast<const CUmemAccessDesc*>(wanted), count));
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  static_assert(sizeof(CUmemLocation) == sizeof(cudaMemLocation));
  return error_of(the_driver().cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                                                  reinterpret_cast<CUmemLocation*>(location)));
}

cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                               cudaMemAllocationHandleType type, unsigned flags) {
  return error_of(the_driver().cuMemPoolExportToShareableHandle(
      handle, pool, static_cast<CUmemAllocationHandleType>(type), flags));
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                 cudaMemAllocationHandleType type, unsigned flags) {
  return error_of(the_driver().cuMemPoolImportFromShareableHandle(
      pool, handle, static_cast<CUmemAllocationHandleType>(type), flags));
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer) {
  static_assert(sizeof(CUmemPoolPtrExportData) == sizeof(cudaMemPoolPtrExportData));
  return error_of(the_driver().cuMemPoolExportPointer(
      reinterpret_cast<CUmemPoolPtrExportData*>(data), device_pointer(pointer)));
}

cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool,
                                     cudaMemPoolPtrExportData* data) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr address = 0;
  const CUresult result = the_driver().cuMemPoolImportPointer(
      &address, pool, reinterpret_cast<CUmemPoolPtrExportData*>(data));
  if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<void*>(address);
  return error_of(result);
}

#if VRAMSCOPE_CUDART_VERSION >= 13000
namespace {

// Drivers before 13.0, with which other calls of this runtime work, do not have these.
template <class Function>
Function newer(const char* name) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = driver_lookup()(name, &found, 13000, 0, &status);
  return result == CUDA_SUCCESS ? reinterpret_cast<Function>(found) : nullptr;
}

}  // namespace

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  const auto ask = newer<decltype(&::cuMemGetDefaultMemPool)>("cuMemGetDefaultMemPool");
  if (ask == nullptr) return cudaErrorCallRequiresNewerDriver;
  return error_of(ask(pool, reinterpret_cast<CUmemLocation*>(location),
                      static_cast<CUmemAllocationType>(type)));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                              cudaMemAllocationType type) {
  const auto ask = newer<decltype(&::cuMemGetMemPool)>("cuMemGetMemPool");
  if (ask == nullptr) return cudaErrorCallRequiresNewerDriver;
  return error_of(ask(pool, reinterpret_cast<CUmemLocation*>(location),
                      static_cast<CUmemAllocationType>(type)));
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type,
                              cudaMemPool_t pool) {
  const auto set = newer<decltype(&::cuMemSetMemPool)>("cuMemSetMemPool");
  if (set == nullptr) return cudaErrorCallRequiresNewerDriver;
  return error_of(set(reinterpret_cast<CUmemLocation*>(location),
                      static_cast<CUmemAllocationType>(type), pool));
}
#endif

}  // namespace cudart::runtime
