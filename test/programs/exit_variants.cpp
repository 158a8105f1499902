// Ends in every way a program can end, with memory still allocated.
// SPDX-License-Identifier: Apache-2.0
// Argument: return, exit, _exit, _Exit, quick_exit, thread, pthread_exit, last_thread, abort, kill,
// terminate or exec. last_thread ends where the driver has no threads of its own: a real one's keep
// the process.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "test/programs/driver.h"

static CUdeviceptr held;
static const char* way;

static bool is(const char* name) { return std::strcmp(way, name) == 0; }

static void free_late() { std::printf("freed at exit: %d\n", cuMemFree(held) == CUDA_SUCCESS); }

// Another thread calls exit once the first one has ended.
static void exit_after(pthread_t first) {
  std::thread([first] {
    pthread_join(first, nullptr);
    std::exit(12);
  }).detach();
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "return";
  start();
  held = allocate(6 * kMiB);
  allocate(1000);  // never freed
  std::atexit(free_late);
  std::printf("leaving by %s\n", way);
  std::fflush(stdout);
  if (is("exit")) std::exit(7);
  if (is("_exit")) _exit(8);
  if (is("_Exit")) std::_Exit(9);
  if (is("quick_exit")) std::quick_exit(10);
  if (is("thread")) std::thread([] { std::exit(11); }).join();
  if (is("pthread_exit")) exit_after(pthread_self());
  if (is("pthread_exit") || is("last_thread")) pthread_exit(nullptr);
  if (is("abort")) std::abort();
  if (is("kill")) raise(SIGKILL);
  if (is("terminate")) raise(SIGTERM);
  if (is("exec")) execl("/bin/echo", "echo", "executed", nullptr);
  return 6;
}
