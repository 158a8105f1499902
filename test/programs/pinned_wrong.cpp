// Wrong frees of pinned memory, and calls on it that the driver refuses or answers in its own way.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static CUdeviceptr address_of(void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

static void* pin(std::size_t bytes, unsigned flags = 0) {
  void* block = nullptr;
  MUST(cuMemHostAlloc(&block, bytes, flags));
  return block;
}

static void frees(CUstream stream) {
  char* block = static_cast<char*>(pin(100000));
  show("inside", cuMemFreeHost(block + 64));
  show("last byte", cuMemFreeHost(block + 99999));
  show("behind", cuMemFreeHost(block + 120000));
  show("as device memory", cuMemFree(address_of(block)));
  show("inside, as device memory", cuMemFree(address_of(block) + 512));
  show("in a stream's order", cuMemFreeAsync(address_of(block), stream));
  show("as registered memory", cuMemHostUnregister(block));
  show("export", [&] {
    CUipcMemHandle handle;
    return cuIpcGetMemHandle(&handle, address_of(block));
  }());
  std::memset(block, 7, 100000);  // still the program's
  show("free", cuMemFreeHost(block));
  show("again", cuMemFreeHost(block));
  show("again, inside", cuMemFreeHost(block + 64));
  show("again, as device memory", cuMemFree(address_of(block)));
  show("nothing", cuMemFreeHost(nullptr));
  int on_stack = 0;
  show("stack", cuMemFreeHost(&on_stack));
}

static void others() {
  CUdeviceptr device = allocate(kMiB);
  show("device memory", cuMemFreeHost(reinterpret_cast<void*>(device)));
  show("inside device memory", cuMemFreeHost(reinterpret_cast<void*>(device + 512)));
  show("free of device memory", cuMemFree(device));
  show("freed device memory", cuMemFreeHost(reinterpret_cast<void*>(device)));
  std::vector<char> memory(kMiB);
  show("register", cuMemHostRegister(memory.data(), memory.size(), 0));
  show("registered memory", cuMemFreeHost(memory.data()));
  show("unregister", cuMemHostUnregister(memory.data()));
}

static void requests() {
  void* block = &block;
  void* before = block;
  show("no bytes", cuMemHostAlloc(&block, 0, 0));
  std::printf("no memory: %d\n", block == nullptr || block == before);
  show("no bytes, without flags", cuMemAllocHost(&block, 0));
  show("no place for the answer", cuMemHostAlloc(nullptr, 1000, 0));
  show("unknown flags", cuMemHostAlloc(&block, 1000, 0x100));
  show("more than there is", cuMemHostAlloc(&block, std::size_t{1} << 60, 0));
  void* one = pin(1);
  *static_cast<char*>(one) = 1;
  show("one byte", cuMemFreeHost(one));
}

static void registrations() {
  char* block = static_cast<char*>(pin(3 * kMiB, CU_MEMHOSTALLOC_PORTABLE));
  show("register pinned memory", cuMemHostRegister(block, 3 * kMiB, 0));
  show("register a part of it", cuMemHostRegister(block + kMiB, 4096, 0));
  show("unregister that", cuMemHostUnregister(block + kMiB));
  show("free", cuMemFreeHost(block));
}

static void threads(CUcontext context) {
  void *without = pin(5000), *with = pin(5000);
  std::thread([=] {
    show("free without a context", cuMemFreeHost(without));
    void* nothing = nullptr;
    show("allocate without a context", cuMemHostAlloc(&nothing, 5000, 0));
    MUST(cuCtxSetCurrent(context));
    show("free on another thread", cuMemFreeHost(with));
  }).join();
  std::printf("free after that: %d\n", cuMemFreeHost(without) == CUDA_SUCCESS);
}

int main() {
  void* early = nullptr;
  show("before the driver starts", cuMemHostAlloc(&early, 1000, 0));
  MUST(cuInit(0));
  show("without a context", cuMemHostAlloc(&early, 1000, 0));
  CUcontext context = start();
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  frees(stream);
  others();
  requests();
  registrations();
  threads(context);
}
