// Allocates from as many call stacks as are asked for, each of them once, and says what memory the
// process has then.
// SPDX-License-Identifier: Apache-2.0
// Arguments: STACKS. Prints the resident KiB after the first stack and after the last. A few of the
// blocks stay.
#include "test/programs/driver.h"
#include "test/programs/resident.h"

constexpr int kFrames = 20;

// Which of the two calls is made at each depth is a bit of the stack's number.
[[gnu::noinline]] static void allocate_below(int frames, int stack) {
  if (frames == 0) {
    const CUdeviceptr block = allocate(512);
    if (stack % 64 != 0) MUST(cuMemFree(block));
  } else if ((stack >> (frames - 1) & 1) != 0) {
    allocate_below(frames - 1, stack);
  } else {
    allocate_below(frames - 1, stack);
    __asm__ volatile("nop");  // two calls, two places to return to
  }
  __asm__ volatile("");  // a frame each: no jump in place of the call
}

int main(int argc, char** argv) {
  const int stacks = argc > 1 ? std::atoi(argv[1]) : 1000;
  start();
  allocate_below(kFrames, 0);
  std::printf("%ld KiB\n", resident_kib("VmRSS:"));
  for (int stack = 1; stack < stacks; ++stack) allocate_below(kFrames, stack);
  std::printf("%ld KiB\n", resident_kib("VmRSS:"));
}
