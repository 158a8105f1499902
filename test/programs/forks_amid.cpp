// A signal handler forks amid a call, again and again; each child returns from the handler, ends
// the call, makes more of them and exits.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "test/programs/driver.h"

static constexpr int kForks = 100;
static constexpr std::size_t kBlocks = 16;

static volatile sig_atomic_t forks, children_well, is_child;

// No program may fork in a handler that interrupted malloc: the C library's fork waits for malloc's
// locks. This one does not.
static thread_local volatile sig_atomic_t amid_malloc;

extern "C" void* __libc_malloc(std::size_t);
extern "C" void __libc_free(void*);
extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  amid_malloc = amid_malloc + 1;
  void* const got = __libc_malloc(bytes);
  amid_malloc = amid_malloc - 1;
  return got;
}
extern "C" __attribute__((visibility("default"))) void free(void* memory) {
  amid_malloc = amid_malloc + 1;
  __libc_free(memory);
  amid_malloc = amid_malloc - 1;
}

static void fork_and_return(int) {
  if (amid_malloc != 0 || is_child != 0 || forks == kForks) return;
  const int kept = errno;
  const pid_t child = fork();
  is_child = child == 0 ? 1 : 0;
  int status = 0;
  while (child != 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child != 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7) {
    children_well = children_well + 1;
  }
  if (child != 0) forks = forks + 1;
  errno = kept;
}

// What the driver answers there is not looked at: it does not work.
[[noreturn]] static void go_on_in_child(CUdeviceptr* blocks) {
  for (std::size_t i = 0; i < kBlocks; ++i) cuMemFree(blocks[i]);
  for (std::size_t i = 0; i < kBlocks; ++i) cuMemAlloc(&blocks[i], i * 1000);
  const std::string text(100000, 'x');  // the heap works
  std::exit(text.size() == 100000 ? 7 : 8);
}

// A handler that found malloc under way has not forked, and gets another signal.
static void interrupt(pthread_t target) {
  for (int i = 0; forks < kForks; ++i) {
    usleep(static_cast<useconds_t>(i * 37 % 400));
    pthread_kill(target, SIGUSR2);
  }
}

int main() {
  start();
  CUdeviceptr blocks[kBlocks] = {};
  for (CUdeviceptr& block : blocks) block = allocate(5 * kMiB);
  struct sigaction action {};
  action.sa_handler = fork_and_return;
  sigaction(SIGUSR2, &action, nullptr);
  std::thread sender(interrupt, pthread_self());
  for (std::size_t i = 0; forks < kForks && is_child == 0; ++i) {
    CUdeviceptr& block = blocks[i % kBlocks];
    cuMemFree(block);
    cuMemAlloc(&block, 5 * kMiB);
  }
  if (is_child != 0) go_on_in_child(blocks);
  sender.join();
  for (const CUdeviceptr block : blocks) MUST(cuMemFree(block));
  std::printf("children that went on well: %d of %d\n", static_cast<int>(children_well), kForks);
}
