// As a library is loaded it waits for a thread that uses CUDA. The driver, started before, asks the
// loader nothing then, so nobody else may: the loader's lock is free again when the thread is done.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <thread>

#include "test/programs/driver.h"

static CUcontext context;

static void use_cuda() {
  MUST(cuCtxSetCurrent(context));
  void *pinned = nullptr, *own = std::aligned_alloc(4096, kMiB);
  CUdeviceptr ordered = 0;
  const CUdeviceptr block = allocate(kMiB);
  show("pin", cuMemHostAlloc(&pinned, 4096, 0));
  show("register", cuMemHostRegister(own, kMiB, 0));
  show("in order", cuMemAllocAsync(&ordered, 4096, nullptr));
  show("end in order", cuMemFreeAsync(ordered, nullptr));
  show("unregister", cuMemHostUnregister(own));
  show("unpin", cuMemFreeHost(pinned));
  show("free", cuMemFree(block));
  std::free(own);
}

extern "C" __attribute__((visibility("default"))) void while_loading() {
  std::thread(use_cuda).join();
}

int main() {
  context = start();
  const CUdeviceptr before = allocate(kMiB);
  if (dlopen("libloading_library.so", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::printf("the library cannot be loaded\n");
    return 1;
  }
  show("free", cuMemFree(before));
}
