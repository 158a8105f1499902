// A free does not wait for work in a second context of the device: a program may free while such
// work waits for the program itself.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 4 * kMiB;

static void wait_for(void* open) {
  while (!static_cast<std::atomic<bool>*>(open)->load()) {
  }
}

int main() {
  CUcontext first = start();
  CUdeviceptr copy = allocate(kBytes);
  CUcontext second = create_context();
  CUdeviceptr source = allocate(kBytes);
  CUstream theirs, ours;
  MUST(cuMemsetD8(source, 0x11, kBytes));
  MUST(cuCtxSynchronize());
  MUST(cuStreamCreate(&theirs, CU_STREAM_NON_BLOCKING));
  MUST(cuCtxSetCurrent(first));
  MUST(cuStreamCreate(&ours, CU_STREAM_NON_BLOCKING));

  std::size_t wrong = 0;
  for (int round = 0; round < 4; ++round) {
    CUdeviceptr block = allocate(kBytes);
    void* pinned = nullptr;
    MUST(cuMemHostAlloc(&pinned, kBytes, 0));
    std::atomic<bool> open{false};
    MUST(cuCtxSetCurrent(second));
    MUST(cuLaunchHostFunc(theirs, wait_for, &open));
    MUST(cuMemcpyAsync(copy, source, kBytes, theirs));
    if (round != 3) MUST(cuCtxSetCurrent(first));  // once under the context that works
    show("free", cuMemFree(block));
    show("free of pinned memory", cuMemFreeHost(pinned));
    MUST(cuCtxSetCurrent(first));
    if (round == 2) MUST(cuCtxSynchronize());  // of this context: the other still works
    CUdeviceptr next = allocate(kBytes);
    MUST(cuMemsetD8Async(next, 0x22, kBytes, ours));
    MUST(cuStreamSynchronize(ours));
    MUST(cuCtxSetCurrent(second));
    show("the other still works", cuStreamQuery(theirs));
    open = true;
    MUST(cuStreamSynchronize(theirs));
    MUST(cuCtxSetCurrent(first));
    wrong += count_wrong(copy, kBytes, 0x11) + count_wrong(next, kBytes, 0x22);
    MUST(cuMemFree(next));
  }
  std::printf("wrong bytes: %zu\n", wrong);
  show("destroy", cuCtxDestroy(second));
  MUST(cuMemFree(copy));
}
