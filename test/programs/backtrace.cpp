// The program's own backtrace() must see the same frames after calls of ours as before.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <execinfo.h>

#include <cstring>

#include "test/programs/driver.h"

[[gnu::noinline]] int depth_at(int levels) {
  if (levels > 0) {
    int depth = depth_at(levels - 1);
    asm volatile("");  // keeps this from being a jump
    return depth;
  }
  void* frames[128];
  return backtrace(frames, 128);
}

// Does the program find that symbol in a library of that name?
static bool is_in(const char* symbol, const char* library) {
  Dl_info where{};
  void* address = dlsym(RTLD_DEFAULT, symbol);
  return address != nullptr && dladdr(address, &where) != 0 &&
         std::strstr(where.dli_fname, library) != nullptr;
}

int main() {
  int before = depth_at(10);
  start();
  CUdeviceptr block = allocate(5 * kMiB);
  int between = depth_at(10);
  MUST(cuMemFree(block));
  std::printf("depth grows by the levels: %d\n", depth_at(20) - depth_at(10));
  std::printf("depth stays: %d\n", before == between && between == depth_at(10));

  std::printf("backtrace is the C library's: %d\n", is_in("backtrace", "libc.so"));
  std::printf("libunwind answers for the compiler: %d\n",
              is_in("_Unwind_RaiseException", "libunwind"));
}
