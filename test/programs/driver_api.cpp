// Opens the driver as ffmpeg, XLA and cuFFT do: dlopen, then dlsym of the versioned names.
// SPDX-License-Identifier: Apache-2.0
// Argument: local (default), global or deep, the binding of the handle; or twice, which closes the
// driver and opens it again. The driver is closed in the end, before the process is.
#define __CUDA_API_VERSION_INTERNAL  // declares every version of a function
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static void* driver;

template <class Function>
Function* find(const char* name) {
  void* symbol = dlsym(driver, name);
  if (symbol == nullptr) {
    std::printf("%s is missing\n", name);
    std::exit(3);
  }
  return reinterpret_cast<Function*>(symbol);
}

#define CALL(name, ...) \
  std::printf("%s: %d\n", #name, static_cast<int>(find<decltype(name)>(#name)(__VA_ARGS__)))

static bool use_driver(int binding) {
  driver = dlopen("libcuda.so.1", RTLD_NOW | binding);
  if (driver == nullptr) return false;
  CUdevice device;
  CUcontext context;
  CALL(cuInit, 0);
  CALL(cuDeviceGet, &device, 0);
  CALL(cuCtxCreate_v2, &context, 0, device);
  std::vector<unsigned char> bytes(1 << 20, 42), back(1 << 20);
  CUdeviceptr small = 0, large = 0;
  std::size_t pitch = 0;
  void* pinned = nullptr;
  CALL(cuMemAlloc_v2, &small, bytes.size());
  CALL(cuMemAllocPitch_v2, &large, &pitch, 1000, 3000, 4);
  CALL(cuMemHostAlloc, &pinned, 12345, 0);
  CALL(cuMemcpyHtoD_v2, small, bytes.data(), bytes.size());
  CALL(cuMemcpyDtoH_v2, back.data(), small, back.size());
  std::printf("same bytes: %d\n", bytes == back);
  std::printf("pitch holds a row: %d\n", pitch >= 1000);
  CALL(cuMemFreeHost, pinned);
  CALL(cuMemFree_v2, large);
  CALL(cuMemFree_v2, small);
  CALL(cuCtxDestroy_v2, context);
  std::printf("unknown name: %d\n", dlsym(driver, "cuMemNoSuchCall") != nullptr);
  dlclose(driver);
  return true;
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "local";
  int binding = RTLD_LOCAL;
  if (how == "global") binding = RTLD_GLOBAL;
  if (how == "deep") binding = RTLD_DEEPBIND;
  for (int times = how == "twice" ? 2 : 1; times > 0; --times) {
    if (!use_driver(binding)) {
      std::printf("no driver\n");
      return 3;
    }
  }
}
