// Ends in every way a program can end, with memory still allocated.
// SPDX-License-Identifier: Apache-2.0
// Argument: return, exit, _exit, _Exit, quick_exit, thread, pthread_exit, abort, kill, terminate or
// exec.
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
  if (is("pthread_exit")) pthread_exit(nullptr);
  if (is("abort")) std::abort();
  if (is("kill")) raise(SIGKILL);
  if (is("terminate")) raise(SIGTERM);
  if (is("exec")) execl("/bin/echo", "echo", "executed", nullptr);
  return 6;
}
