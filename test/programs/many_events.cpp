// Threads allocate from several places and free what others allocated: THREADS, PAIRS of each.
// SPDX-License-Identifier: Apache-2.0
// With a third word they begin when there is something to read.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static std::array<std::atomic<CUdeviceptr>, 256> slots{};

static CUdeviceptr small(unsigned random) { return allocate(512 + random % 8 * 512); }
static CUdeviceptr odd(unsigned random) { return allocate(1 + random % 100000); }
static CUdeviceptr large(unsigned random) { return allocate(kMiB + random % 4 * kMiB); }

static void work(CUcontext context, unsigned seed, unsigned pairs) {
  MUST(cuCtxSetCurrent(context));
  unsigned random = seed * 2654435761U + 1;
  for (unsigned i = 0; i < pairs; ++i) {
    random = random * 1664525U + 1013904223U;
    unsigned bits = random >> 8;
    CUdeviceptr block = bits % 16 == 0 ? large(bits) : bits % 4 == 0 ? odd(bits) : small(bits);
    CUdeviceptr old = slots[bits / 16 % slots.size()].exchange(block);
    if (old != 0) MUST(cuMemFree(old));
  }
}

int main(int argc, char** argv) {
  unsigned count = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 4;
  unsigned pairs = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1000;
  CUcontext context = start();
  if (argc > 3) {
    std::puts("ready");
    std::fflush(stdout);
    std::getchar();
  }
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work, context, i, pairs);
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<CUdeviceptr>& slot : slots) {
    if (slot != 0) MUST(cuMemFree(slot));
  }
  std::printf("%u threads, %u pairs each\n", count, pairs);
}
