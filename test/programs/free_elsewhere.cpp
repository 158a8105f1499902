// Frees blocks in other threads and under other contexts than those that allocated them.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <thread>

#include "test/programs/driver.h"

static CUcontext create_on(int ordinal) {
  CUdevice device;
  CUcontext context = nullptr;
  MUST(cuDeviceGet(&device, ordinal));
  context = create_context(device);
  return context;
}

static void free_in_thread(const char* where, CUcontext context, CUdeviceptr block) {
  std::thread([=] {
    if (context != nullptr) MUST(cuCtxSetCurrent(context));
    show(where, cuMemFree(block));
    CUcontext current = nullptr;
    MUST(cuCtxGetCurrent(&current));
    std::printf("context as before: %d\n", current == context);
  }).join();
}

int main() {
  CUcontext mine = start(), other = create_on(0);
  int devices = 0;
  MUST(cuDeviceGetCount(&devices));
  MUST(cuCtxSetCurrent(mine));
  for (std::size_t bytes : {std::size_t{3000}, 3 * kMiB, 40 * kMiB}) {
    CUdeviceptr block = allocate(bytes);
    free_in_thread("in a thread of the same context", mine, block);
    show("once more", cuMemFree(block));
    free_in_thread("in a thread of another context", other, allocate(bytes));
    block = allocate(bytes);
    free_in_thread("in a thread without a context", nullptr, block);
    std::printf("the owner frees it then: %d\n", cuMemFree(block) == CUDA_SUCCESS);
    block = allocate(bytes);
    MUST(cuCtxPushCurrent(other));
    show("under another context", cuMemFree(block));
    MUST(cuCtxPopCurrent(nullptr));
    if (devices > 1) {
      block = allocate(bytes);
      CUcontext far = create_on(1);
      show("under another device's context", cuMemFree(block));
      MUST(cuCtxDestroy(far));
      MUST(cuCtxSetCurrent(mine));
    }
    block = allocate(bytes);
    show("memory can be used", cuMemsetD8(block, 1, bytes));
    show("free", cuMemFree(block));
  }
}
