// What pools keep of freed memory: until the stream of the free has come there, and then as much as
// their threshold says.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "test/programs/driver.h"

static std::atomic<bool> go{false};

// Keeps its stream busy until the thread that submitted it says so.
static void hold(void*) {
  while (!go) std::this_thread::yield();
}

static CUmemoryPool new_pool() {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  MUST(cuMemPoolCreate(&pool, &properties));
  return pool;
}

static void keep_all(CUmemoryPool pool) {
  cuuint64_t everything = ~cuuint64_t{0};
  MUST(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything));
}

static void show_used(const char* when) {
  std::size_t free_bytes = 0, total = 0;
  MUST(cuMemGetInfo(&free_bytes, &total));
  std::printf("%s: %zu MiB used\n", when, (total - free_bytes) / kMiB);
}

static void show_large(const char* when) {
  CUdeviceptr large = 0;
  const CUresult code = cuMemAlloc(&large, 100 * kMiB);
  show(when, code);
  if (code == CUDA_SUCCESS) MUST(cuMemFree(large));
}

// With a word it ends while they keep what was freed.
int main(int argc, char**) {
  start();
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUmemoryPool first = nullptr;
  CUmemoryPool second = new_pool();
  MUST(cuDeviceGetDefaultMemPool(&first, 0));
  keep_all(first);
  keep_all(second);

  CUdeviceptr blocks[8] = {};
  for (int i = 0; i < 5; ++i) MUST(cuMemAllocAsync(&blocks[i], 10 * kMiB, stream));
  for (int i = 5; i < 8; ++i) {
    MUST(cuMemAllocFromPoolAsync(&blocks[i], 10 * kMiB, second, stream));
  }
  MUST(cuStreamSynchronize(stream));
  MUST(cuLaunchHostFunc(stream, hold, nullptr));
  for (int i = 1; i < 8; ++i) MUST(cuMemFreeAsync(blocks[i], stream));
  show_large("allocate behind a busy stream");
  go = true;
  MUST(cuStreamSynchronize(stream));
  show_used("freed");
  if (argc > 1) return 0;
  MUST(cuMemPoolDestroy(second));
  show_used("one pool destroyed");
  show_large("allocate once nobody waits");
  show_used("the other gave way");
}
