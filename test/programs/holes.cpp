// Leaves holes between live blocks and then asks for more than any of them: what the driver has in
// all, it has in one piece. The device has 1 GiB.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/programs/driver.h"

static void free_all(std::vector<CUdeviceptr>& blocks) {
  for (CUdeviceptr block : blocks) MUST(cuMemFree(block));
  blocks.clear();
}

static void say_free(const char* when, std::size_t least) {
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  std::printf("%s at least %zu MiB are free: %d\n", when, least, free >= least * kMiB);
}

int main() {
  start();
  std::vector<CUdeviceptr> large, small;
  for (int i = 0; i < 45; ++i) large.push_back(allocate(20 * kMiB));
  free_all(large);
  say_free("at first", 1000);
  for (int i = 0; i < 45; ++i) {
    large.push_back(allocate(17 * kMiB));
    small.push_back(allocate(2 * kMiB));
  }
  free_all(large);
  say_free("between live blocks", 900);
  CUdeviceptr one = 0;
  std::printf("one block of 300 MiB: %d\n", static_cast<int>(cuMemAlloc(&one, 300 * kMiB)));
  std::printf("one more of 500 MiB: %d\n", static_cast<int>(cuMemAlloc(&one, 500 * kMiB)));
}
