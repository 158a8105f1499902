// Frees after main: by handlers older and newer than the driver's own, and by destructors.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

static CUdeviceptr blocks[4];
static void* pinned;

static void free_one(const char* when, int which) {
  CUdeviceptr late = 0;
  show(when, cuMemFree(blocks[which]));
  show("the same again", cuMemFree(blocks[which]));
  CUresult code = cuMemAlloc(&late, 3 * kMiB);
  show("an allocation", code);
  if (code == CUDA_SUCCESS) show("its free", cuMemFree(late));
  std::fflush(stdout);
}

struct Global {
  ~Global() {
    free_one("free by a destructor", 0);
    show("free of pinned memory", cuMemFreeHost(pinned));
    std::fflush(stdout);
  }
} global;

int main() {
  std::atexit([] { free_one("free by a handler older than the driver's", 1); });
  start();
  std::atexit([] { free_one("free by a newer handler", 2); });
  for (CUdeviceptr& block : blocks) block = allocate(3 * kMiB);
  MUST(cuMemAllocHost(&pinned, 5000));
  static struct Local {
    ~Local() { free_one("free by a local object's destructor", 3); }
  } local;
  std::printf("main ends\n");
  return 5;
}
