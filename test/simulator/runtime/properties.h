// describe() reads the properties of a device from the driver, for the layouts of all runtimes;
// OlderProperties is that of CUDA 11 and 12.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "test/simulator/runtime/runtime.h"

namespace cudart {

// cudaDeviceProp of CUDA 12 (cudaGetDeviceProperties_v2). In CUDA 11, and in CUDA 12's
// cudaGetDeviceProperties, it ends before `added`.
struct OlderProperties {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory;
  int computeMode, textures_and_surfaces[40];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize;
  int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess;
  int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  struct Added {
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch;
    int unifiedFunctionPointers, reserved[63];
  } added;
};
// The offsets in compilers of those versions.
static_assert(offsetof(OlderProperties, added) == 728);
static_assert(sizeof(OlderProperties) == 1032);

// Fills in the members that both layouts have. Returns the device's own errors.
template <class Properties>
[[nodiscard]] cudaError_t describe(Properties& properties, int device) {
  const DriverFunctions& driver = the_driver();
  const auto set = [&](auto& member, CUdevice_attribute which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, device);
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
  };
  const CUresult result = driver.cuDeviceGetName(properties.name, sizeof(properties.name), device);
  if (result != CUDA_SUCCESS) return error_of(result);
  driver.cuDeviceTotalMem(&properties.totalGlobalMem, device);
  driver.cuDeviceGetUuid(&properties.uuid, device);
#define PROPERTY(member, attribute) set(properties.member, CU_DEVICE_ATTRIBUTE_##attribute);
#include "test/simulator/runtime/properties.def"
#undef PROPERTY
  return cudaSuccess;
}

}  // namespace cudart
