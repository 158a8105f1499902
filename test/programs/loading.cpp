// As a library is loaded it waits for a thread that uses CUDA. The driver, started before, asks the
// loader nothing then, so nobody else may: the loader's lock is free again when the thread is done.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <thread>

#include "test/programs/driver.h"

static CUcontext context;

static void use_cuda() {
  MUST(cuCtxSetCurrent(context));
  use_each_kind();
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
