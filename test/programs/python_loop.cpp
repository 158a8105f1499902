// Allocates and frees from C until the process ends, whatever becomes of the interpreter meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

extern "C" __attribute__((visibility("default"))) void allocate_for_ever() {
  start();
  for (;;) {
    CUdeviceptr pointer = 0;
    if (cuMemAlloc(&pointer, 4096) == CUDA_SUCCESS) cuMemFree(pointer);
  }
}
