// Calls for memory before cuInit, without a context, and in one that was destroyed.
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "test/programs/driver.h"

static char host[4096];

static void ask(const char* when, CUdeviceptr known) {
  CUdeviceptr block = 0;
  void* pinned = nullptr;
  std::size_t free = 0, total = 0;
  unsigned flags = 0;
  CUmemorytype type{};
  std::printf("%s\n", when);
  show("allocate", cuMemAlloc(&block, 5000));
  show("managed", cuMemAllocManaged(&block, 5000, CU_MEM_ATTACH_GLOBAL));
  show("stream-ordered", cuMemAllocAsync(&block, 5000, nullptr));
  show("pinned", cuMemHostAlloc(&pinned, 5000, 0));
  show("plain pinned", cuMemAllocHost(&pinned, 5000));
  show("register", cuMemHostRegister(host, sizeof host, 0));
  show("unregister", cuMemHostUnregister(host));
  show("flags", cuMemHostGetFlags(&flags, host));
  show("free memory", cuMemGetInfo(&free, &total));
  show("free of something", cuMemFree(known));
  show("free of pinned", cuMemFreeHost(host));
  show("range", cuMemGetAddressRange(nullptr, &total, known));
  show("attribute", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, known));
  show("wait", cuCtxSynchronize());
}

int main() {
  ask("before the driver starts", 0x5000);
  MUST(cuInit(0));
  ask("without a context", 0x5000);
  CUcontext context = start(), second = nullptr;
  CUdevice device;
  MUST(cuDeviceGet(&device, 0));
  CUdeviceptr block = allocate(5 * kMiB);
  MUST(cuCtxSetCurrent(nullptr));
  CUdeviceptr other = 0;
  show("allocation without a context", cuMemAlloc(&other, 5 * kMiB));
  show("its pointer untouched", other == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  MUST(cuCtxSetCurrent(context));
  second = create_context(device);
  CUdeviceptr theirs = allocate(5 * kMiB);
  std::thread([=] { MUST(cuCtxDestroy(second)); }).join();
  ask("in a context that another thread destroyed", theirs);
  show("free of the first block", cuMemFree(block));
  MUST(cuCtxSetCurrent(context));
  std::printf("it is free: %d\n", cuMemFree(block) == CUDA_SUCCESS);
}
