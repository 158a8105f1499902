// Defines functions of the driver, and maps the driver when one is called, as TensorFlow's library
// does.
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <dlfcn.h>

template <class Function>
static Function* in_driver(Function*, const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

#define DEFINED(name, parameters, arguments)                                                \
  extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI name parameters {      \
    auto* const function = in_driver(&::name, #name);                                       \
    return function == nullptr ? CUDA_ERROR_SHARED_OBJECT_INIT_FAILED : function arguments; \
  }
DEFINED(cuInit, (unsigned flags), (flags))
DEFINED(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal))
DEFINED(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device))
DEFINED(cuCtxSetCurrent, (CUcontext context), (context))
DEFINED(cuMemAlloc_v2, (CUdeviceptr * block, std::size_t bytes), (block, bytes))
DEFINED(cuMemFree_v2, (CUdeviceptr block), (block))

// The codes of an allocation and its free, as digits; 0 when all is well.
extern "C" __attribute__((visibility("default"))) int use_memory(unsigned bytes) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUdeviceptr block = 0;
  const CUresult results[] = {cuInit(0),
                              cuDeviceGet(&device, 0),
                              cuDevicePrimaryCtxRetain(&context, device),
                              cuCtxSetCurrent(context),
                              cuMemAlloc(&block, bytes),
                              cuMemFree(block)};
  for (const CUresult result : results) {
    if (result != CUDA_SUCCESS) return static_cast<int>(result);
  }
  return 0;
}
