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

int main() {
  int before = depth_at(10);
  start();
  CUdeviceptr block = allocate(5 * kMiB);
  int between = depth_at(10);
  MUST(cuMemFree(block));
  std::printf("depth grows by the levels: %d\n", depth_at(20) - depth_at(10));
  std::printf("depth stays: %d\n", before == between && between == depth_at(10));

  Dl_info of_backtrace{};
  dladdr(dlsym(RTLD_DEFAULT, "backtrace"), &of_backtrace);
  std::printf("backtrace is the C library's: %d\n",
              std::strstr(of_backtrace.dli_fname, "libc.so") != nullptr);
  Dl_info of_raise{};
  dladdr(dlsym(RTLD_DEFAULT, "_Unwind_RaiseException"), &of_raise);
  std::printf("the unwinder is the compiler's: %d\n",
              std::strstr(of_raise.dli_fname, "libgcc_s") != nullptr);
}
