// Takes all of the device's memory, by each function that gives some, and tells how much that is.
// SPDX-License-Identifier: Apache-2.0
// Argument: shared, where other processes use the device, or it is large: some of it is taken, and
// how much is free is not told.
#include <vector>

#include "test/programs/driver.h"

static constexpr std::size_t kChunk = 64 * kMiB;
static constexpr std::size_t kWidth = 65536;
static CUstream stream;
static bool is_shared = false;

static CUresult plain(CUdeviceptr* block) { return cuMemAlloc(block, kChunk); }
static CUresult managed(CUdeviceptr* block) {
  return cuMemAllocManaged(block, kChunk, CU_MEM_ATTACH_GLOBAL);
}
static CUresult ordered(CUdeviceptr* block) { return cuMemAllocAsync(block, kChunk, stream); }
static CUresult from_pool(CUdeviceptr* block) {
  CUdevice device;
  CUmemoryPool pool;
  MUST(cuCtxGetDevice(&device));
  MUST(cuDeviceGetDefaultMemPool(&pool, device));
  return cuMemAllocFromPoolAsync(block, kChunk, pool, stream);
}
static CUresult pitched(CUdeviceptr* block) {
  std::size_t pitch = 0;
  return cuMemAllocPitch(block, &pitch, kWidth, kChunk / kWidth, 4);
}

static void say(const char* what) {
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  if (is_shared) free = 0;
  std::printf("%s: free MiB %zu of %zu\n", what, free / kMiB, total / kMiB);
}

static std::vector<CUdeviceptr> fill(const char* what, CUresult (*get)(CUdeviceptr*),
                                     std::size_t most) {
  std::vector<CUdeviceptr> blocks;
  CUdeviceptr block = 0;
  CUresult last = CUDA_SUCCESS;
  while (blocks.size() < most && (last = get(&block)) == CUDA_SUCCESS) blocks.push_back(block);
  std::printf("%s: %zu, then %d\n", what, blocks.size(), static_cast<int>(last));
  return blocks;
}

static void empty(std::vector<CUdeviceptr>& blocks) {
  for (CUdeviceptr block : blocks) MUST(cuMemFree(block));
  MUST(cuCtxSynchronize());
}

int main(int argc, char**) {
  is_shared = argc > 1;
  const std::size_t most = is_shared ? 20 : 1000;
  start();
  CUdevice device;
  std::size_t total = 0;
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDeviceTotalMem(&total, device));
  std::printf("total MiB %zu\n", total / kMiB);
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  struct {
    const char* what;
    CUresult (*get)(CUdeviceptr*);
  } ways[] = {{"plain", plain},
              {"managed", managed},
              {"ordered", ordered},
              {"from the pool", from_pool},
              {"pitched", pitched}};
  for (auto& way : ways) {
    std::vector<CUdeviceptr> half = fill("plain", plain, 5);
    std::vector<CUdeviceptr> rest = fill(way.what, way.get, most);
    say(way.what);
    empty(half);
    std::vector<CUdeviceptr> again = fill(way.what, way.get, most);
    empty(rest);
    empty(again);
    say("empty");
  }
}
