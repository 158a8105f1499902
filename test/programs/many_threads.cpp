// Threads that allocate and stay, or end one after the other, and what memory the process has then.
// SPDX-License-Identifier: Apache-2.0
// Arguments: THREADS ["ended"]. Prints the resident KiB before the first thread, with all of them,
// and after the last. Each allocates from a few stacks, again and again.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "test/programs/driver.h"
#include "test/programs/resident.h"

constexpr int kStacks = 4;
constexpr int kTimes = 16;
constexpr int kFrames = 16;

[[gnu::noinline]] static void allocate_below(int frames, int stack) {
  if (frames == 0) {
    MUST(cuMemFree(allocate(4096)));
  } else if ((stack >> (frames % 2) & 1) != 0) {
    allocate_below(frames - 1, stack);
  } else {
    allocate_below(frames - 1, stack);
    __asm__ volatile("nop");  // two calls, two places to return to
  }
  __asm__ volatile("");  // a frame each: no jump in place of the call
}

static void work(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  for (int i = 0; i < kTimes * kStacks; ++i) allocate_below(kFrames, i % kStacks);
}

static void run_ended(CUcontext context, int threads) {
  for (int i = 0; i < threads; ++i) std::thread(work, context).join();
  std::printf("%ld KiB\n", resident_kib("VmRSS:"));
}

static void run_live(CUcontext context, int count) {
  std::mutex lock;
  std::condition_variable changed;
  int arrived = 0;
  bool ends = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      work(context);
      std::unique_lock guard(lock);
      ++arrived;
      changed.notify_all();
      changed.wait(guard, [&] { return ends; });
    });
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return arrived == i + 1; });
  }
  std::printf("%ld KiB\n", resident_kib("VmRSS:"));
  {
    const std::lock_guard guard(lock);
    ends = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld KiB\n", resident_kib("VmRSS:"));
}

int main(int argc, char** argv) {
  const CUcontext context = start();
  work(context);
  std::printf("%ld KiB\n", resident_kib("VmRSS:"));
  const int threads = argc > 1 ? std::atoi(argv[1]) : 100;
  argc > 2 ? run_ended(context, threads) : run_live(context, threads);
}
