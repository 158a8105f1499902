// Wrong frees: their codes are the driver's, and the right frees around them still work.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/programs/driver.h"

static void device_memory() {
  CUdeviceptr block = allocate(3 * kMiB), neighbour = allocate(1000), nothing = 0;
  show("free inside a block", cuMemFree(block + 512));
  show("free far inside a block", cuMemFree(block + 2 * kMiB));
  show("free", cuMemFree(block));
  show("free again", cuMemFree(block));
  show("free inside the freed block", cuMemFree(block + 512));
  show("free of the neighbour", cuMemFree(neighbour));
  show("free of nothing", cuMemFree(0));
  show("free of a foreign address", cuMemFree(0x1234));
  int on_stack = 0;
  show("free of a stack address", cuMemFree(reinterpret_cast<CUdeviceptr>(&on_stack)));
  show("no bytes", cuMemAlloc(&nothing, 0));
  show("no place for the answer", cuMemAlloc(nullptr, 1000));
  show("more than there is", cuMemAlloc(&nothing, std::size_t{1} << 50));
  std::printf("pointer untouched: %d\n", nothing == 0);
}

static void pinned_memory() {
  void* block = nullptr;
  MUST(cuMemHostAlloc(&block, 100000, 0));
  char* bytes = static_cast<char*>(block);
  show("free inside a pinned block", cuMemFreeHost(bytes + 4096));
  show("unregister a pinned block", cuMemHostUnregister(block));
  show("free pinned as device memory", cuMemFree(reinterpret_cast<CUdeviceptr>(block)));
  show("free pinned", cuMemFreeHost(block));
  show("free pinned again", cuMemFreeHost(block));
  show("free pinned nothing", cuMemFreeHost(nullptr));
  show("unknown flags", cuMemHostAlloc(&block, 1000, 0xff00));
}

static void registered_memory() {
  std::vector<char> memory(3 * kMiB);
  show("register", cuMemHostRegister(memory.data(), 2 * kMiB, 0));
  show("register an overlap", cuMemHostRegister(memory.data() + kMiB, kMiB, 0));
  show("unregister inside", cuMemHostUnregister(memory.data() + 4096));
  show("free registered as pinned", cuMemFreeHost(memory.data()));
  show("unregister", cuMemHostUnregister(memory.data()));
  show("unregister again", cuMemHostUnregister(memory.data()));
  show("unregister nothing", cuMemHostUnregister(nullptr));
}

int main() {
  CUdeviceptr early = 0;
  show("before the driver starts", cuMemAlloc(&early, 1000));
  MUST(cuInit(0));
  show("without a context", cuMemAlloc(&early, 1000));
  start();
  device_memory();
  pinned_memory();
  registered_memory();
}
