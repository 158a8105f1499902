// Asks for memory of each kind when there is none left, and goes on. "storm" asks again and again,
// from four threads. The device has 64 MiB.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <thread>

#include "test/programs/driver.h"

namespace {

[[gnu::noinline]] void ask_for_each_kind() {
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  show("linear", cuMemAlloc(&memory, 48 * kMiB));
  show("pitched", cuMemAllocPitch(&memory, &pitch, 4096, 40 * kMiB / 4096, 4));
  show("in order", cuMemAllocAsync(&memory, 44 * kMiB, nullptr));
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR plane = {4096, 41 * kMiB / 4096, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  show("array", cuArrayCreate(&array, &plane));
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp pages = {};
  pages.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  pages.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  show("physical", cuMemCreate(&handle, 42 * kMiB, &pages, 0));
}

void ask_often(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  int refused = 0;
  for (int i = 0; i < 250; ++i) {
    CUdeviceptr memory = 0;
    refused += cuMemAlloc(&memory, 48 * kMiB) == CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (refused != 250) std::exit(4);
}

}  // namespace

int main(int argc, char** argv) {
  const CUcontext context = start();
  const CUdeviceptr held = allocate(30 * kMiB);
  if (argc > 1 && std::strcmp(argv[1], "storm") == 0) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(ask_often, context);
    for (std::thread& thread : threads) thread.join();
  } else {
    ask_for_each_kind();
  }
  show("free", cuMemFree(held));
}
