// Leaks 2 MiB a step beside memory that it frees, until none is left, and ends with all of it held.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "test/programs/driver.h"

int main() {
  start();
  allocate(40 * kMiB);
  int steps = 0;
  CUdeviceptr block = 0;
  while (cuMemAlloc(&block, 2 * kMiB) == CUDA_SUCCESS) {
    CUdeviceptr temporary = 0;
    if (cuMemAlloc(&temporary, 8 * kMiB) == CUDA_SUCCESS) MUST(cuMemFree(temporary));
    if (++steps % 40 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::printf("some steps: %d\n", steps > 3);
}
