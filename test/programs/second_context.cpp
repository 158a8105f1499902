// Work in a second context of a device uses memory of the first, which is freed and handed out
// again meanwhile. The second context never allocates.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 4 * kMiB;

int main() {
  CUcontext first = start();
  CUdeviceptr copy = allocate(kBytes);
  CUcontext second = create_context();
  CUstream theirs, ours;
  MUST(cuStreamCreate(&theirs, CU_STREAM_NON_BLOCKING));
  MUST(cuCtxSetCurrent(first));
  MUST(cuStreamCreate(&ours, CU_STREAM_NON_BLOCKING));

  std::size_t wrong = 0;
  for (int round = 0; round < 4; ++round) {
    CUdeviceptr source = allocate(kBytes);
    MUST(cuMemsetD8(source, 0x11, kBytes));
    MUST(cuCtxSynchronize());
    MUST(cuCtxSetCurrent(second));
    MUST(cuMemcpyAsync(copy, source, kBytes, theirs));
    MUST(cuCtxSetCurrent(first));
    MUST(cuMemFree(source));
    if (round == 2) MUST(cuCtxSynchronize());  // of this context: the other still works
    CUdeviceptr next = allocate(kBytes);
    MUST(cuMemsetD8Async(next, 0x22, kBytes, ours));
    MUST(cuStreamSynchronize(ours));
    MUST(cuCtxSetCurrent(second));
    MUST(cuStreamSynchronize(theirs));
    MUST(cuCtxSetCurrent(first));
    wrong += count_wrong(copy, kBytes, 0x11);
    MUST(cuMemFree(next));
  }
  std::printf("wrong bytes: %zu\n", wrong);
  show("destroy", cuCtxDestroy(second));
  MUST(cuMemFree(copy));
}
