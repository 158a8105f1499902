// The small runtime: errors, versions and devices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "test/simulator/runtime/properties.h"
#include "test/simulator/runtime/runtime.h"

namespace cudart::runtime {

cudaError_t cudaGetLastError() { return std::exchange(last_error(), cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error(); }

namespace {

struct Text {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr Text kTexts[] = {
#define ERROR(name, text) {name, #name, text},
#include "test/simulator/runtime/errors.def"
#undef ERROR
};

constexpr Text kUnknown = {cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};

const Text& text_of(cudaError_t error) {
  const auto* const found = std::ranges::find(kTexts, error, &Text::error);
  return found == std::end(kTexts) ? kUnknown : *found;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kVersion;
  return cudaSuccess;
}

// 0 without a driver, as the runtime's documentation says.
cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = 0;
  if (prepare(RuntimeNeeds::driver) != cudaSuccess) return cudaSuccess;
  return error_of(the_driver().cuDriverGetVersion(version));
}

cudaError_t cudaGetDeviceCount(int* count) {
  return error_of(the_driver().cuDeviceGetCount(count));
}

// The current context's device, else the chosen one, else 0.
cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  CUdevice current = 0;
  const bool has_context = the_driver().cuCtxGetDevice(&current) == CUDA_SUCCESS;
  *device = has_context ? current : chosen_device() < 0 ? 0 : chosen_device();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return error_of(
      the_driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device));
}

#if VRAMSCOPE_CUDART_VERSION >= 13000
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  cudaDeviceProp all = {};
  if (const cudaError_t error = describe(all, device); error != cudaSuccess) return error;
  (void)runtime::cudaDeviceGetAttribute(&all.hostRegisterSupported,
                                        cudaDevAttrHostRegisterSupported, device);
  (void)runtime::cudaDeviceGetAttribute(&all.hostRegisterReadOnlySupported,
                                        cudaDevAttrHostRegisterReadOnlySupported, device);
  (void)runtime::cudaDeviceGetAttribute(&all.memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported,
                                        device);
  int types = 0;
  (void)runtime::cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, device);
  all.memoryPoolSupportedHandleTypes = static_cast<unsigned>(types);
  (void)runtime::cudaDeviceGetAttribute(&all.ipcEventSupported, cudaDevAttrIpcEventSupport, device);
  *properties = all;
  return cudaSuccess;
}
#endif

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return error_of(the_driver().cuDeviceGetPCIBusId(id, length, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return error_of(the_driver().cuDeviceGetByPCIBusId(device, id));
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return error_of(the_driver().cuDeviceCanAccessPeer(can, device, peer));
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                      int peer) {
  return error_of(the_driver().cuDeviceGetP2PAttribute(
      value, static_cast<CUdevice_P2PAttribute>(attribute), device, peer));
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return error_of(the_driver().cuCtxResetPersistingL2Cache());
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

namespace {

cudaError_t choose(int device) {
  int count = 0;
  if (const CUresult result = the_driver().cuDeviceGetCount(&count); result != CUDA_SUCCESS) {
    return error_of(result);
  }
  if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  if (chosen_device() != device) the_driver().cuCtxSetCurrent(nullptr);
  chosen_device() = device;
  return prepare(RuntimeNeeds::context);  // since 12.0, choosing a device initialises it
}

}  // namespace

cudaError_t cudaSetDevice(int device) { return choose(device); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return choose(device); }

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  const int device = chosen_device() < 0 ? 0 : chosen_device();
  return error_of(the_driver().cuDevicePrimaryCtxSetFlags(device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  int active = 0;
  const int device = chosen_device() < 0 ? 0 : chosen_device();
  return error_of(the_driver().cuDevicePrimaryCtxGetState(device, flags, &active));
}

cudaError_t cudaDeviceReset() {
  const int device = chosen_device() < 0 ? 0 : chosen_device();
  const CUresult result = the_driver().cuDevicePrimaryCtxReset(device);
  if (result != CUDA_SUCCESS) return error_of(result);
  forget_context(device);
  forget_modules();
  return error_of(the_driver().cuCtxSetCurrent(nullptr));
}

namespace {

cudaError_t entry_point(const char* symbol, void** function, int version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (flags == cudaEnableDefault && per_thread_default()) flags = cudaEnablePerThreadDefaultStream;
  const CUresult result = driver_lookup()(symbol, function, version, flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  // A name that the driver does not have is an answer (status), not an error.
  return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : error_of(result);
}

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, kVersion, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, static_cast<int>(version), flags, status);
}

cudaError_t cudaDeviceSynchronize() { return error_of(the_driver().cuCtxSynchronize()); }

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  return error_of(the_driver().cuCtxGetLimit(value, static_cast<CUlimit>(limit)));
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  return error_of(the_driver().cuCtxSetLimit(static_cast<CUlimit>(limit), value));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return error_of(the_driver().cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

namespace {

cudaError_t primary_of(int device, CUcontext* context) {
  return error_of(the_driver().cuDevicePrimaryCtxRetain(context, device));
}

}  // namespace

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUcontext context = nullptr;
  if (const cudaError_t error = primary_of(peer, &context); error != cudaSuccess) return error;
  return error_of(the_driver().cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  CUcontext context = nullptr;
  if (const cudaError_t error = primary_of(peer, &context); error != cudaSuccess) return error;
  return error_of(the_driver().cuCtxDisablePeerAccess(context));
}

}  // namespace cudart::runtime
