// Forks after the driver started: the child cannot use CUDA, and must not disturb the parent.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/driver.h"

static CUdeviceptr held;

static void wait_for(const char* what, pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%s: exit %d, signal %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  std::fflush(stdout);
}

int main() {
  start();
  held = allocate(3 * kMiB);
  std::fflush(stdout);

  pid_t child = fork();
  if (child == 0) {
    CUdeviceptr block = 0;
    std::printf("in the child, works: %d\n", cuMemAlloc(&block, kMiB) == CUDA_SUCCESS);
    std::printf("in the child, free works: %d\n", cuMemFree(held) == CUDA_SUCCESS);
    std::exit(5);
  }
  wait_for("child", child);

  child = fork();
  if (child == 0) execl("/bin/echo", "echo", "executed", nullptr);
  wait_for("executed child", child);

  child = vfork();
  if (child == 0) _exit(9);
  wait_for("vforked child", child);

  CUdeviceptr more = allocate(2 * kMiB);
  MUST(cuMemFree(more));
  MUST(cuMemFree(held));
  std::printf("parent goes on\n");
}
