// Asks how much memory is free, as programs do that size their caches by it.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/programs/driver.h"

static std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  return free;
}

int main() {
  start();
  std::size_t total = 0, whole = 0;
  CUdevice device;
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDeviceTotalMem(&whole, device));
  MUST(cuMemGetInfo(nullptr, &total));
  std::printf("total is the device's: %d\n", total == whole);
  std::size_t before = free_bytes();
  CUdeviceptr large = allocate(64 * kMiB);
  std::printf("a large block takes MiB: %zu\n", (before - free_bytes()) / kMiB);
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(allocate(2 * kMiB));
  std::printf("many blocks take at least what they hold: %d\n",
              before - free_bytes() >= 264 * kMiB);
  for (CUdeviceptr block : blocks) MUST(cuMemFree(block));
  MUST(cuMemFree(large));
  std::printf("all comes back: %d\n", free_bytes() == before);
}
