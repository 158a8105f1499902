// Frees pinned memory that copies still read or write, from other threads and contexts, and asks
// for more at once: no copy may see the new owner's bytes, and no new owner an old copy's.
// SPDX-License-Identifier: Apache-2.0
// Argument: contexts, when a copy runs in another context than the free, which does not wait for
// it.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 4 * kMiB;

static std::size_t count_wrong(const unsigned char* bytes, int expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kBytes; ++i) wrong += bytes[i] != expected;
  return wrong;
}

static unsigned char* pin(unsigned flags) {
  void* block = nullptr;
  MUST(cuMemHostAlloc(&block, kBytes, flags));
  return static_cast<unsigned char*>(block);
}

static void free_elsewhere(CUcontext context, void* block) {
  std::thread([=] {
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemFreeHost(block));
  }).join();
}

// Runs what follows in a context, as the copies do, then comes back.
struct Inside {
  explicit Inside(CUcontext context) { MUST(cuCtxPushCurrent(context)); }
  ~Inside() {
    CUcontext popped;
    MUST(cuCtxPopCurrent(&popped));
  }
};

struct Copies {
  CUcontext context;
  CUdeviceptr memory;
  CUstream stream;
};

static Copies prepare(CUcontext context) {
  Inside inside(context);
  Copies copies{context, allocate(kBytes), nullptr};
  MUST(cuStreamCreate(&copies.stream, CU_STREAM_NON_BLOCKING));
  return copies;
}

// Read by a copy to the device when it is freed.
static std::size_t free_a_source(const Copies& copies, CUcontext here, unsigned flags) {
  unsigned char* source = pin(flags);
  std::memset(source, 0x33, kBytes);
  {
    Inside inside(copies.context);
    MUST(cuMemcpyHtoDAsync(copies.memory, source, kBytes, copies.stream));
  }
  free_elsewhere(here, source);
  unsigned char* next = pin(flags);
  std::memset(next, 0x44, kBytes);
  std::vector<unsigned char> back(kBytes);
  {
    Inside inside(copies.context);
    MUST(cuStreamSynchronize(copies.stream));
    MUST(cuMemcpyDtoH(back.data(), copies.memory, kBytes));
  }
  MUST(cuMemFreeHost(next));
  return count_wrong(back.data(), 0x33);
}

// Written by a copy from the device when it is freed.
static std::size_t free_a_target(const Copies& copies, CUcontext here, unsigned flags) {
  unsigned char* target = pin(flags);
  {
    Inside inside(copies.context);
    MUST(cuMemsetD8Async(copies.memory, 0x55, kBytes, copies.stream));
    MUST(cuMemcpyDtoHAsync(target, copies.memory, kBytes, copies.stream));
  }
  free_elsewhere(here, target);
  unsigned char* next = pin(flags);
  std::memset(next, 0x66, kBytes);
  {
    Inside inside(copies.context);
    MUST(cuStreamSynchronize(copies.stream));
  }
  std::size_t wrong = count_wrong(next, 0x66);
  MUST(cuMemFreeHost(next));
  return wrong;
}

static void wait_for(void* open) {
  while (!static_cast<std::atomic<bool>*>(open)->load()) {
  }
}

// Nobody waits for the other context, so the copy begins after the free: what it meets is the
// program's fault.
static void free_beside(CUcontext here) {
  CUdevice device;
  MUST(cuDeviceGet(&device, 0));
  Copies copies = prepare(create_context(device));
  MUST(cuCtxSetCurrent(here));
  unsigned char* source = pin(0);
  std::memset(source, 0x33, kBytes);
  std::atomic<bool> open{false};
  Inside inside(copies.context);
  MUST(cuLaunchHostFunc(copies.stream, wait_for, &open));
  MUST(cuMemcpyHtoDAsync(copies.memory, source, kBytes, copies.stream));
  free_elsewhere(here, source);
  show("the copy waits still", cuStreamQuery(copies.stream));
  open = true;
  show("the copy", cuStreamSynchronize(copies.stream));
}

int main(int argc, char**) {
  CUcontext here = start();
  if (argc > 1) {
    free_beside(here);
    std::fflush(stdout);
    std::_Exit(0);  // after a fault
  }
  Copies copies = prepare(here);
  std::size_t sources = 0, targets = 0;
  for (unsigned round = 0; round < 6; ++round) {
    unsigned flags = round % 2 ? CU_MEMHOSTALLOC_PORTABLE : 0;
    sources += free_a_source(copies, here, flags);
    targets += free_a_target(copies, here, flags);
  }
  std::printf("wrong bytes: read %zu, written %zu\n", sources, targets);
}
