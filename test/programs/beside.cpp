// Holds memory of several sorts beside another process, until a line comes in; then says what is
// used of the device.
// SPDX-License-Identifier: Apache-2.0
//
// beside MIB
#include <unistd.h>

#include "test/programs/driver.h"

int main(int count, char** arguments) {
  const std::size_t mib = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1;
  start();
  CUmodule module = nullptr;
  MUST(cuModuleLoadData(&module, ".version 6.0\n.target sm_50\n.address_size 64\n"));
  (void)allocate(mib * kMiB);
  MUST(cuMemFree(allocate(8 * kMiB)));
  CUdeviceptr managed = 0;
  MUST(cuMemAllocManaged(&managed, 4 * kMiB, CU_MEM_ATTACH_GLOBAL));
  std::puts("ready");
  std::fflush(stdout);
  char line = 0;
  while (read(STDIN_FILENO, &line, 1) == 1 && line != '\n') continue;
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  std::printf("%zu\n", total - free);
}
