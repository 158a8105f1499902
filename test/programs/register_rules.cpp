// Registration of host memory: to the byte, without overlap, undone only where it began.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "test/programs/driver.h"

int main() {
  start();
  char* memory = static_cast<char*>(std::aligned_alloc(4096, 16 * 4096));
  unsigned flags = 99;
  CUdeviceptr seen = 0;
  show("part of a page", cuMemHostRegister(memory + 100, 1000, 0));
  show("its neighbour on the page", cuMemHostRegister(memory + 1100, 1000, 0));
  show("over both", cuMemHostRegister(memory, 4096, 0));
  show("the same again", cuMemHostRegister(memory + 100, 1000, 0));
  show("over the end of one", cuMemHostRegister(memory + 1900, 1000, 0));
  show("unregister inside", cuMemHostUnregister(memory + 200));
  show("unregister before", cuMemHostUnregister(memory));
  show("unregister one", cuMemHostUnregister(memory + 100));
  show("its device pointer", cuMemHostGetDevicePointer(&seen, memory + 100, 0));
  show("the neighbour's", cuMemHostGetDevicePointer(&seen, memory + 1200, 0));
  show("unregister the neighbour", cuMemHostUnregister(memory + 1100));
  show("whole pages", cuMemHostRegister(memory, 8 * 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
  show("flags", cuMemHostGetFlags(&flags, memory));
  std::printf("flags %u\n", flags);
  show("part of it", cuMemHostRegister(memory + 4096, 4096, 0));
  show("the pages behind", cuMemHostRegister(memory + 8 * 4096, 8 * 4096, 0));
  show("unregister", cuMemHostUnregister(memory));
  show("unregister again", cuMemHostUnregister(memory));
  show("unregister behind", cuMemHostUnregister(memory + 8 * 4096));
  show("unknown flags", cuMemHostRegister(memory, 4096, 0xf000));
  show("no bytes", cuMemHostRegister(memory, 0, 0));

  void* pinned = nullptr;
  MUST(cuMemHostAlloc(&pinned, 8 * 4096, 0));
  show("flags of pinned memory", cuMemHostGetFlags(&flags, pinned));
  std::printf("flags %u\n", flags);
  show("unregister pinned memory", cuMemHostUnregister(pinned));
  show("free registered memory", cuMemFreeHost(memory));
  show("free pinned memory", cuMemFreeHost(pinned));
  std::free(memory);
}
