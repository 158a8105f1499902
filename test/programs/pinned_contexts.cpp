// Pinned memory and the end of contexts, and a free under another context than the allocation's.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "test/programs/driver.h"

static constexpr std::size_t kBytes = 70000;

static void* pin(unsigned flags) {
  void* block = nullptr;
  MUST(cuMemHostAlloc(&block, kBytes, flags));
  std::memset(block, 1, kBytes);
  return block;
}

static CUcontext owner_of(void* block) {
  CUcontext context = nullptr;
  show("context", cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                                        reinterpret_cast<CUdeviceptr>(block)));
  return context;
}

int main() {
  CUcontext first = start();
  CUdevice device;
  MUST(cuDeviceGet(&device, 0));
  void* ours = pin(0);
  CUcontext second = create_context(device);
  show("free under another context", cuMemFreeHost(ours));
  void* theirs = pin(0);
  std::printf("not shared with the first context: %d\n", owner_of(theirs) == second);
  for (unsigned flags = 0; flags < 8; ++flags) MUST(cuMemFreeHost(pin(flags)));
  show("destroy", cuCtxDestroy(second));

  MUST(cuCtxSetCurrent(first));
  show("free after its context", cuMemFreeHost(theirs));
  void* kept = pin(CU_MEMHOSTALLOC_WRITECOMBINED);
  show("free", cuMemFreeHost(pin(CU_MEMHOSTALLOC_PORTABLE)));
  show("reset", cuDevicePrimaryCtxReset(device));
  CUcontext again = nullptr;
  MUST(cuDevicePrimaryCtxRetain(&again, device));
  MUST(cuCtxSetCurrent(again));
  show("free after the reset", cuMemFreeHost(kept));
  void* fresh = pin(CU_MEMHOSTALLOC_PORTABLE);
  std::printf("of the new life: %d\n", owner_of(fresh) == again);
  show("free", cuMemFreeHost(fresh));
}
