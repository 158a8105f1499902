// Never touches CUDA: must be left alone, its signals and threads included, and those of the
// smallest stack.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>

namespace {

constexpr std::size_t kSmallestStack = 16 << 10;  // PTHREAD_STACK_MIN, where that is a number

// Uses half of the smallest stack.
void* use_stack(void*) {
  volatile unsigned char used[kSmallestStack / 2];
  for (std::size_t i = 0; i < sizeof used; ++i) used[i] = static_cast<unsigned char>(i);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(used[5]));
}

long run_small_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallestStack);
  pthread_t thread;
  void* result = nullptr;
  if (pthread_create(&thread, &attributes, use_stack, nullptr) != 0) return -1;
  pthread_join(thread, &result);
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(result));
}

}  // namespace

int main() {
  struct sigaction seen {};
  sigaction(SIGUSR1, nullptr, &seen);
  auto threads = std::filesystem::directory_iterator("/proc/self/task");
  std::printf("default handler: %d\n", seen.sa_handler == SIG_DFL);
  std::printf("threads: %d\n", static_cast<int>(std::distance(begin(threads), end(threads))));
  std::printf("in a small thread: %ld\n", run_small_thread());
  return 4;
}
