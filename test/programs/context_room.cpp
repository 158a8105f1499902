// How many blocks fit beside one context, beside two, and when the second has ended.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/programs/driver.h"

static void fill(const char* when) {
  std::vector<CUdeviceptr> blocks;
  CUdeviceptr block = 0;
  while (cuMemAlloc(&block, 64 * kMiB) == CUDA_SUCCESS) blocks.push_back(block);
  std::printf("%s: %zu\n", when, blocks.size());
  for (const CUdeviceptr one : blocks) MUST(cuMemFree(one));
}

int main() {
  CUcontext own = start();
  fill("beside one context");
  CUcontext second = create_context();
  fill("beside two");
  MUST(cuCtxDestroy(second));
  MUST(cuCtxSetCurrent(own));
  fill("beside one again");
}
