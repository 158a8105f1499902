// Holds memory of several sorts beside another process, until a line comes in; then says what is
// used of the device.
// SPDX-License-Identifier: Apache-2.0
//
// beside MIB [steps]: with `steps` it waits for a line before its context is made, and after it.
#include <unistd.h>

#include "test/programs/driver.h"

namespace {

void wait_for_line() {
  char line = 0;
  while (read(STDIN_FILENO, &line, 1) == 1 && line != '\n') continue;
}

void say(const char* where) {
  std::puts(where);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t mib = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1;
  const bool steps = count > 2;
  if (steps) {
    say("begun");
    wait_for_line();
  }
  start();
  if (steps) {
    say("made");
    wait_for_line();
  }
  CUmodule module = nullptr;
  MUST(cuModuleLoadData(&module, ".version 6.0\n.target sm_50\n.address_size 64\n"));
  (void)allocate(mib * kMiB);
  MUST(cuMemFree(allocate(8 * kMiB)));
  CUdeviceptr managed = 0;
  MUST(cuMemAllocManaged(&managed, 4 * kMiB, CU_MEM_ATTACH_GLOBAL));
  say("ready");
  wait_for_line();
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  std::printf("%zu\n", total - free);
}
