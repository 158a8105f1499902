// Asks cuGetProcAddress for everything, by both of its ABIs, as the runtimes do.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstdio>
#include <cstdlib>

using First = CUresult(const char*, void**, int, cuuint64_t);
using Second = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static First* first;
static Second* second;

template <class Function>
Function find(const char* name, int version, cuuint64_t flags) {
  void *one = nullptr, *two = nullptr;
  CUdriverProcAddressQueryResult found{};
  CUresult by_first = first(name, &one, version, flags);
  CUresult by_second = second(name, &two, version, flags, &found);
  std::printf("%s at %d, flags %d: %d, %d, status %d, same %d\n", name, version,
              static_cast<int>(flags), by_first, by_second, static_cast<int>(found), one == two);
  return reinterpret_cast<Function>(two);
}

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 3;
  second = reinterpret_cast<Second*>(dlsym(driver, "cuGetProcAddress_v2"));
  if (second == nullptr) return 3;
  void* pointer = nullptr;
  CUdriverProcAddressQueryResult status{};
  std::printf("empty name: %d\n", second("", &pointer, 0, 0, &status));
  std::printf("unknown name: %d\n", second("cuNoSuchCall", &pointer, 12000, 0, &status));

  // A runtime asks again for the resolver itself and goes on with the answer.
  std::printf("v1: %d\n", second("cuGetProcAddress", &pointer, 11030, 0, &status));
  first = reinterpret_cast<First*>(pointer);
  std::printf("v2: %d\n", second("cuGetProcAddress", &pointer, 12000, 0, &status));
  second = reinterpret_cast<Second*>(pointer);

  auto init = find<PFN_cuInit_v2000>("cuInit", 2000, 0);
  auto get = find<PFN_cuDeviceGet_v2000>("cuDeviceGet", 2000, 0);
  auto retain = find<PFN_cuDevicePrimaryCtxRetain_v7000>("cuDevicePrimaryCtxRetain", 7000, 0);
  auto set = find<PFN_cuCtxSetCurrent_v4000>("cuCtxSetCurrent", 4000, 0);
  auto allocate = find<PFN_cuMemAlloc_v3020>("cuMemAlloc", 3020, 0);
  auto newest = find<PFN_cuMemAlloc_v3020>("cuMemAlloc", 12000, 0);
  auto release = find<PFN_cuMemFree_v3020>("cuMemFree", 3020, 0);
  find<void*>("cuMemAllocAsync", 11020, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  find<void*>("cuMemAlloc", 1000, 0);
  std::printf("newest is the same: %d\n", newest == allocate);

  CUdevice device;
  CUcontext context;
  CUdeviceptr block = 0;
  if (init(0) != 0 || get(&device, 0) != 0 || retain(&context, device) != 0) return 3;
  std::printf("no context: %d\n", allocate(&block, 1 << 20));
  std::printf("current: %d\n", set(context));
  std::printf("allocate: %d\n", allocate(&block, 5 << 20));
  std::printf("free: %d\n", release(block));
  std::printf("free again: %d\n", release(block));
}
