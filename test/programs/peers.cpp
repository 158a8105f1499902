// A second device with access to the first one's memory reads a block that is freed and handed out
// again meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 4 * kMiB;

static CUcontext context_of(int ordinal) {
  CUdevice device;
  CUcontext context;
  MUST(cuDeviceGet(&device, ordinal));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  return context;
}

int main() {
  MUST(cuInit(0));
  int count = 0, can = 0;
  MUST(cuDeviceGetCount(&count));
  if (count > 1) MUST(cuDeviceCanAccessPeer(&can, 1, 0));
  if (can == 0) {
    std::printf("no second device that could read the first\n");
    return 0;
  }
  CUcontext first = context_of(0);
  CUstream ours, theirs;
  MUST(cuStreamCreate(&ours, CU_STREAM_NON_BLOCKING));
  CUcontext second = context_of(1);
  show("enable", cuCtxEnablePeerAccess(first, 0));
  show("enable again", cuCtxEnablePeerAccess(first, 0));
  MUST(cuStreamCreate(&theirs, CU_STREAM_NON_BLOCKING));
  CUdeviceptr copy = allocate(kBytes);

  std::size_t wrong = 0;
  for (int round = 0; round < 4; ++round) {
    MUST(cuCtxSetCurrent(first));
    CUdeviceptr source = allocate(kBytes);
    MUST(cuMemsetD8(source, 0x11, kBytes));
    MUST(cuCtxSynchronize());
    MUST(cuCtxSetCurrent(second));
    MUST(cuMemcpyPeerAsync(copy, second, source, first, kBytes, theirs));
    MUST(cuCtxSetCurrent(first));
    MUST(cuMemFree(source));
    if (round == 2) MUST(cuCtxSynchronize());  // of the first device only
    CUdeviceptr next = allocate(kBytes);
    MUST(cuMemsetD8Async(next, 0x22, kBytes, ours));
    MUST(cuStreamSynchronize(ours));
    MUST(cuMemFree(next));
    MUST(cuCtxSetCurrent(second));
    MUST(cuStreamSynchronize(theirs));
    wrong += count_wrong(copy, kBytes, 0x11);
  }
  std::printf("wrong bytes: %zu\n", wrong);
  show("disable", cuCtxDisablePeerAccess(first));
  MUST(cuMemFree(copy));
}
