// Devices, versions, errors, driver entry points.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "test/simulator/runtime.h"

namespace vramscope::simulator::runtime {

namespace {

const char* text_of(CUresult (*ask)(CUresult, const char**), cudaError_t error) {
  const char* text = nullptr;
  if (ask == nullptr || ask(static_cast<CUresult>(error), &text) != CUDA_SUCCESS) return nullptr;
  return text;
}

int device_of_this_thread() { return chosen_device() < 0 ? 0 : chosen_device(); }

int attribute(CUdevice_attribute name, int device) {
  int value = 0;
  (void)the_driver().cuDeviceGetAttribute(&value, name, device);
  return value;
}

void fill_limits(cudaDeviceProp& p, int device) {
  const auto ask = [device](CUdevice_attribute name) { return attribute(name, device); };
  p.sharedMemPerBlock = static_cast<size_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  p.sharedMemPerMultiprocessor =
      static_cast<size_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  p.regsPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.regsPerMultiprocessor = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p.warpSize = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.memPitch = static_cast<size_t>(ask(CU_DEVICE_ATTRIBUTE_MAX_PITCH));
  p.maxThreadsPerBlock = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.maxThreadsPerMultiProcessor = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.maxThreadsDim[0] = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p.maxThreadsDim[1] = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p.maxThreadsDim[2] = ask(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p.maxGridSize[0] = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p.maxGridSize[1] = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p.maxGridSize[2] = ask(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p.totalConstMem = static_cast<size_t>(ask(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY));
  p.textureAlignment = static_cast<size_t>(ask(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT));
}

void fill_features(cudaDeviceProp& p, int device) {
  const auto ask = [device](CUdevice_attribute name) { return attribute(name, device); };
  p.major = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.minor = ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.multiProcessorCount = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.canMapHostMemory = ask(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p.concurrentKernels = ask(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p.pciBusID = ask(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p.asyncEngineCount = ask(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p.unifiedAddressing = ask(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p.memoryBusWidth = ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.l2CacheSize = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.streamPrioritiesSupported = ask(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p.managedMemory = ask(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p.concurrentManagedAccess = ask(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p.hostRegisterSupported = ask(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  p.memoryPoolsSupported = ask(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  p.hostNumaId = -1;
}

cudaError_t entry_point(const char* name, void** function, unsigned version,
                        unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  if (name == nullptr || function == nullptr) return cudaErrorInvalidValue;
  if (flags == cudaEnableDefault && per_thread_default()) {
    flags = cudaEnablePerThreadDefaultStream;
  }
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = driver_lookup()(name, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return error_of(result);
}

}  // namespace

cudaError_t cudaGetLastError() { return std::exchange(last_error(), cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error(); }

const char* cudaGetErrorName(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver) return "cudaErrorInsufficientDriver";
  const char* name = text_of(the_driver().cuGetErrorName, error);
  return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaSuccess) return "no error";
  if (error == cudaErrorInsufficientDriver) {
    return "CUDA driver version is insufficient for CUDA runtime version";
  }
  const char* text = text_of(the_driver().cuGetErrorString, error);
  return text == nullptr ? "unrecognized error code" : text;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// Without a driver the answer is 0, not an error (cuda_runtime_api.h).
cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = 0;
  const auto ask = the_driver().cuDriverGetVersion;
  return ask == nullptr ? cudaSuccess : error_of(ask(version));
}

cudaError_t cudaGetDeviceCount(int* count) {
  return error_of(the_driver().cuDeviceGetCount(count));
}

// What the thread chose, or the device of a context that the program made current itself.
cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  CUcontext current = nullptr;
  (void)the_driver().cuCtxGetCurrent(&current);
  if (current != nullptr && the_driver().cuCtxGetDevice(device) == CUDA_SUCCESS) return cudaSuccess;
  *device = device_of_this_thread();
  return cudaSuccess;
}

// Since CUDA 12 choosing a device also makes its primary context current.
cudaError_t cudaSetDevice(int device) {
  int count = 0;
  const CUresult result = the_driver().cuDeviceGetCount(&count);
  if (result != CUDA_SUCCESS) return error_of(result);
  if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  if (device != device_of_this_thread()) (void)the_driver().cuCtxSetCurrent(nullptr);
  chosen_device() = device;
  return prepare(RuntimeNeeds::context);
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  const int before = chosen_device();
  const cudaError_t result = runtime::cudaSetDevice(device);
  return before < 0 || result != cudaSuccess ? result : runtime::cudaSetDevice(before);
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return error_of(
      the_driver().cuDevicePrimaryCtxSetFlags(device_of_this_thread(), flags & cudaDeviceMask));
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  int active = 0;
  return error_of(the_driver().cuDevicePrimaryCtxGetState(device_of_this_thread(), flags, &active));
}

cudaError_t cudaDeviceReset() {
  const int device = device_of_this_thread();
  const CUresult result = the_driver().cuDevicePrimaryCtxReset(device);
  forget_context(device);
  forget_modules();
  return error_of(result);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr name, int device) {
  return error_of(
      the_driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(name), device));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  cudaDeviceProp made = {};
  const CUresult named = the_driver().cuDeviceGetName(made.name, sizeof made.name, device);
  if (named != CUDA_SUCCESS) return error_of(named);
  (void)the_driver().cuDeviceGetUuid(&made.uuid, device);
  (void)the_driver().cuDeviceTotalMem(&made.totalGlobalMem, device);
  fill_limits(made, device);
  fill_features(made, device);
  *properties = made;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return error_of(the_driver().cuDeviceGetPCIBusId(text, length, device));
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return error_of(the_driver().cuDeviceGetByPCIBusId(device, text));
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return error_of(the_driver().cuDeviceCanAccessPeer(can, device, peer));
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return error_of(the_driver().cuDeviceGetDefaultMemPool(pool, device));
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return error_of(the_driver().cuDeviceGetMemPool(pool, device));
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return error_of(the_driver().cuDeviceSetMemPool(device, pool));
}

cudaError_t cudaDeviceSynchronize() { return error_of(the_driver().cuCtxSynchronize()); }
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return error_of(the_driver().cuCtxGetLimit(value, static_cast<CUlimit>(limit)));
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return error_of(the_driver().cuCtxSetLimit(static_cast<CUlimit>(limit), value));
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return error_of(the_driver().cuCtxGetStreamPriorityRange(least, greatest));
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned flags) {
  CUcontext peer = nullptr;
  const CUresult retained = the_driver().cuDevicePrimaryCtxRetain(&peer, device);
  if (retained != CUDA_SUCCESS) return error_of(retained);
  return error_of(the_driver().cuCtxEnablePeerAccess(peer, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int device) {
  CUcontext peer = nullptr;
  const CUresult retained = the_driver().cuDevicePrimaryCtxRetain(&peer, device);
  if (retained != CUDA_SUCCESS) return error_of(retained);
  return error_of(the_driver().cuCtxDisablePeerAccess(peer));
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point(name, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return entry_point(name, function, version, flags, status);
}

}  // namespace vramscope::simulator::runtime
