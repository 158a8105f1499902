// Frees of nothing, before the driver starts, without a context, and with one.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

static void free_nothing(const char* when) {
  std::printf("%s\n", when);
  show("device", cuMemFree(0));
  show("pinned", cuMemFreeHost(nullptr));
  show("registered", cuMemHostUnregister(nullptr));
  show("stream-ordered", cuMemFreeAsync(0, nullptr));
  show("imported", cuIpcCloseMemHandle(0));
}

int main() {
  free_nothing("before the driver starts");
  MUST(cuInit(0));
  free_nothing("without a context");
  start();
  free_nothing("with a context");
  CUdeviceptr block = allocate(5 * kMiB);
  free_nothing("with memory");
  show("memory can still be used", cuMemsetD8(block, 1, 5 * kMiB));
  show("and freed", cuMemFree(block));
  free_nothing("after its free");
}
