// What the driver-API victims share: a context, and calls that must not fail.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

// Ends the program when a call fails that the program cannot do without.
inline void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s failed with %d\n", what, static_cast<int>(result));
  std::exit(3);
}
#define MUST(call) must((call), #call)

// Prints the code of a call whose code is the point.
inline void show(const char* what, CUresult result) {
  std::printf("%s: %d\n", what, static_cast<int>(result));
}

// The primary context of the first device, current on this thread.
inline CUcontext start() {
  CUdevice device;
  CUcontext context;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  return context;
}

// A further context on a device, current on this thread.
inline CUcontext create_context(CUdevice device = 0) {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  MUST(cuCtxCreate(&context, nullptr, 0, device));
#else
  MUST(cuCtxCreate(&context, 0, device));
#endif
  return context;
}

inline CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr pointer = 0;
  MUST(cuMemAlloc(&pointer, bytes));
  return pointer;
}

// What the driver says is free. Contexts take some of the device, so compare it with what it was.
inline std::size_t unused_bytes() {
  std::size_t unused = 0, total = 0;
  MUST(cuMemGetInfo(&unused, &total));
  return unused;
}

// Each kind of memory once, and its end; the codes are the point.
inline void use_each_kind() {
  void *pinned = nullptr, *own = std::aligned_alloc(4096, kMiB);
  CUdeviceptr block = 0, ordered = 0;
  show("allocate", cuMemAlloc(&block, kMiB));
  show("pin", cuMemHostAlloc(&pinned, 4096, 0));
  show("register", cuMemHostRegister(own, kMiB, 0));
  show("in order", cuMemAllocAsync(&ordered, 4096, nullptr));
  show("end in order", cuMemFreeAsync(ordered, nullptr));
  show("unregister", cuMemHostUnregister(own));
  show("unpin", cuMemFreeHost(pinned));
  show("free", cuMemFree(block));
  std::free(own);
}

// How many bytes of device memory differ from `expected`.
inline std::size_t count_wrong(CUdeviceptr memory, std::size_t size, unsigned char expected) {
  std::vector<unsigned char> bytes(size);
  MUST(cuMemcpyDtoH(bytes.data(), memory, size));
  std::size_t wrong = 0;
  for (const unsigned char byte : bytes) wrong += byte != expected;
  return wrong;
}
