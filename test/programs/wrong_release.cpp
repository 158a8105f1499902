// Ends memory by functions that are wrong for it: each is refused and nothing is freed.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/driver.h"

int main() {
  start();
  void* pinned = nullptr;
  MUST(cuMemHostAlloc(&pinned, 4096, 0));
  for (int i = 0; i < 3; ++i) show("unregister of allocated memory", cuMemHostUnregister(pinned));
  show("device free of host memory", cuMemFree(reinterpret_cast<CUdeviceptr>(pinned)));
  show("free", cuMemFreeHost(pinned));
  show("again", cuMemFreeHost(pinned));
}
