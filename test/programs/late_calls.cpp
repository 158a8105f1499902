// Frees in every late moment of a process, and ends that come from handlers.
// SPDX-License-Identifier: Apache-2.0
// Argument: exit, quick_exit, signal_exit, signal__exit, shutdown or thread.
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "test/programs/driver.h"
#include "test/programs/late_library.h"

static const char* way;
static CUdeviceptr by_handler, by_static;

static bool is(const char* name) { return std::strcmp(way, name) == 0; }

static void free_late(const char* when, CUdeviceptr block) {
  std::printf("%s: %d\n", when, static_cast<int>(cuMemFree(block)));
  std::fflush(stdout);
}

static void at_exit() { free_late("exit handler", by_handler); }

struct Static {
  ~Static() {
    if (by_static != 0) free_late("static object", by_static);
  }
};
static Static object;

static void leave(int) {
  if (is("signal_exit")) std::exit(4);
  _exit(5);
}

// Ends the process from a handler, in the middle of whatever the threads do.
static void be_interrupted() {
  struct sigaction action {};
  action.sa_handler = leave;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  for (std::size_t i = 1;; ++i) MUST(cuMemFree(allocate(i % 64 * 4096 + 1)));
}

// Blocks outlive the thread that allocated them, also when its last destructor allocates.
static std::atomic<CUdeviceptr> left_behind{0};
struct Last {
  ~Last() { left_behind = allocate(kMiB); }
};
static thread_local Last last;

static void end_threads(CUcontext context) {
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr block = 0;
    std::thread([&] {
      MUST(cuCtxSetCurrent(context));
      static_cast<void>(&last);
      block = allocate(1000);
    }).join();
    free_late("of an ended thread", block);
    if (left_behind != 0) free_late("of its last destructor", left_behind);
  }
}

int main(int argc, char** argv) {
  way = argc > 1 ? argv[1] : "exit";
  if (is("shutdown")) std::atexit(at_exit);  // runs after the driver's own
  const CUcontext context = start();
  by_handler = allocate(kMiB);
  if (std::strncmp(way, "signal", 6) == 0) be_interrupted();
  if (is("thread")) end_threads(context);
  if (is("shutdown")) return 0;
  give_library(allocate(2 * kMiB), allocate(3 * kMiB));
  if (is("quick_exit")) {
    std::at_quick_exit(at_exit);
    std::quick_exit(6);
  }
  by_static = allocate(4 * kMiB);
  std::atexit(at_exit);
}
