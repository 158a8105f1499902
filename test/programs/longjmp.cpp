// Leaves a call of the driver by a long jump from a signal handler, and goes on calling it.
// Argument: jump, or alternate: a handler on a stack of its own, which calls and returns.
// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstring>

#include "test/programs/driver.h"

static sigjmp_buf target;
static bool armed = false;
static bool jumps = false;
static CUresult nested = CUDA_ERROR_UNKNOWN;

static void handler(int) {
  if (jumps) siglongjmp(target, 1);
  CUdeviceptr block = 0;
  nested = cuMemAlloc(&block, kMiB);
  if (nested == CUDA_SUCCESS) nested = cuMemFree(block);
}

// A driver that sleeps in a call (the simulated one with slow_free_us) is interrupted there.
extern "C" __attribute__((visibility("default"))) int nanosleep(const timespec* time,
                                                                timespec* left) {
  if (armed) {
    armed = false;
    raise(SIGALRM);
  }
  return static_cast<int>(syscall(SYS_nanosleep, time, left));
}

static void interrupt_a_free(CUdeviceptr block) {
  volatile bool came_back = false;
  if (sigsetjmp(target, 1) == 0) {
    armed = true;
    const CUresult code = cuMemFree(block);
    armed = false;
    came_back = true;
    show("free", code);
  }
  std::printf("came back: %d\n", static_cast<int>(came_back));
}

[[gnu::noinline]] static void work_deeper(int depth) {
  volatile char room[4096] = {};
  if (depth > 0) return work_deeper(depth - 1 + room[0]);
  for (int i = 0; i < 5; ++i) show("free deeper", cuMemFree(allocate(3 * kMiB)));
}

int main(int, char** argv) {
  char stack_of_handlers[65536];  // above everything that is called from here
  start();
  jumps = std::strcmp(argv[1], "jump") == 0;
  stack_t stack = {};
  stack.ss_sp = stack_of_handlers;
  stack.ss_size = sizeof stack_of_handlers;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = jumps ? 0 : SA_ONSTACK;
  sigaction(SIGALRM, &action, nullptr);

  CUdeviceptr block = 0;
  MUST(cuMemAllocManaged(&block, kMiB, CU_MEM_ATTACH_GLOBAL));
  interrupt_a_free(block);
  if (!jumps) show("nested", nested);
  for (int i = 0; i < 10; ++i) show("free", cuMemFree(allocate(2 * kMiB)));
  work_deeper(8);
  show("free what was interrupted", cuMemFree(block));
}
