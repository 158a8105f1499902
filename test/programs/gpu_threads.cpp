// Pairs of cuMemAlloc and cuMemFree, and cuCtxSynchronize alone, by 1 to 16 threads: one JSON line
// each with the wall time over all pairs in microseconds. For gpu-check.
// SPDX-License-Identifier: Apache-2.0
// Argument: milliseconds for each line (100).
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "test/programs/driver.h"

using Clock = std::chrono::steady_clock;

enum class What { wait, pairs, own_sizes };

static void once(What what, int thread) {
  if (what == What::wait) {
    MUST(cuCtxSynchronize());
    return;
  }
  MUST(cuMemFree(allocate(what == What::pairs ? kMiB : (thread + 1) * kMiB)));
}

static void measure(CUcontext context, What what, const char* name, int count, int milliseconds) {
  std::atomic<int> ready{0};
  std::atomic<bool> begun{false}, over{false};
  std::atomic<unsigned long long> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      MUST(cuCtxSetCurrent(context));
      for (int warm = 0; warm < 20; ++warm) once(what, i);
      unsigned long long mine = 0;
      ++ready;
      while (!begun) std::this_thread::yield();
      for (; !over; ++mine) once(what, i);
      done += mine;
    });
  }
  while (ready < count) std::this_thread::yield();
  const auto start = Clock::now();
  begun = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  over = true;
  for (std::thread& thread : threads) thread.join();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  std::printf("{\"what\": \"%s, threads: %d\", \"unit\": \"us\", \"value\": %.4f}\n", name, count,
              us / static_cast<double>(done.load()));
}

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 100;
  const CUcontext context = start();
  for (int count : {1, 2, 4, 8, 16})
    measure(context, What::wait, "cuCtxSynchronize", count, milliseconds);
  for (int count : {1, 2, 4, 8, 16})
    measure(context, What::pairs, "pair of 1 MiB", count, milliseconds);
  for (int count : {1, 2, 4, 8, 16}) {
    measure(context, What::own_sizes, "pair, a size for each thread", count, milliseconds);
  }
  return 0;
}
