// Leaks 2 MiB a step beside memory that it frees, until none is left, and ends with all of it held.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

int main() {
  start();
  allocate(40 * kMiB);
  int steps = 0;
  CUdeviceptr block = 0;
  while (cuMemAlloc(&block, 2 * kMiB) == CUDA_SUCCESS) {
    CUdeviceptr temporary = 0;
    if (cuMemAlloc(&temporary, 8 * kMiB) == CUDA_SUCCESS) MUST(cuMemFree(temporary));
    ++steps;
  }
  std::printf("some steps: %d\n", steps > 3);
}
