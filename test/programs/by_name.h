// Calls functions of the driver by their exported names: versions that headers no longer name, and
// such that not every driver has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

inline void* driver = nullptr;

inline void open_driver() {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) std::exit(3);
}

// The code is printed: it is the point. A version that this driver does not have is told and
// passed over with NOT_FOUND.
template <class... Parameters, class... Arguments>
inline CUresult call(const char* name, CUresult (*)(Parameters...), Arguments... arguments) {
  auto function = reinterpret_cast<CUresult (*)(Parameters...)>(dlsym(driver, name));
  if (function == nullptr) {
    std::printf("%s: none\n", name);
    return CUDA_ERROR_NOT_FOUND;
  }
  const CUresult code = function(arguments...);
  std::printf("%s: %d\n", name, static_cast<int>(code));
  return code;
}
#define CALL(name, ...) call(#name, decltype(&name){}, __VA_ARGS__)

// Opens the driver and starts it; the primary context of the first device, which is made current.
inline CUcontext start_by_name() {
  CUcontext context = nullptr;
  open_driver();
  const bool started = CALL(cuInit, 0u) == CUDA_SUCCESS &&
                       CALL(cuDevicePrimaryCtxRetain, &context, 0) == CUDA_SUCCESS &&
                       CALL(cuCtxSetCurrent, context) == CUDA_SUCCESS;
  if (!started) std::exit(3);
  return context;
}
