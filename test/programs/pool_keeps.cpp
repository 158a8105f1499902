// What pools keep of freed memory: until the stream of the free has come there, and then as much as
// their threshold says.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string_view>
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

static bool is_shared = false;

static void show_used(const char* when) {
  std::size_t free_bytes = 0, total = 0;
  MUST(cuMemGetInfo(&free_bytes, &total));
  if (is_shared) free_bytes = total;
  std::printf("%s: %zu MiB used\n", when, (total - free_bytes) / kMiB);
}

// Null where it is refused. To be freed once nothing is busy: a free waits for all that is.
static CUdeviceptr show_large(const char* when) {
  CUdeviceptr large = 0;
  show(when, cuMemAlloc(&large, 100 * kMiB));
  return large;
}

// Argument: idle, to end while they keep what was freed; shared, where other processes use the
// device: how much is used is then not told.
int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  is_shared = word == "shared";
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
  const CUdeviceptr large = show_large("allocate behind a busy stream");
  go = true;
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFree(large));
  show_used("freed");
  if (word == "idle") return 0;
  MUST(cuMemPoolDestroy(second));
  show_used("one pool destroyed");
  MUST(cuMemFree(show_large("allocate once nobody waits")));
  show_used("the other gave way");
}
