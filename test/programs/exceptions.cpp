// Throws and catches around every call, in threads and through several functions.
// SPDX-License-Identifier: Apache-2.0
// A profiler that replaces the unwinder or patches return addresses breaks this.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

struct Guard {
  CUdeviceptr block;
  int* destroyed;
  ~Guard() {
    MUST(cuMemFree(block));
    ++*destroyed;
  }
};

[[gnu::noinline]] int descend(int depth, int* destroyed) {
  Guard guard{allocate(1000 + 1000 * depth), destroyed};
  if (depth == 0) throw std::runtime_error("bottom");
  return descend(depth - 1, destroyed) + 1;
}

int throw_through_frames(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  int destroyed = 0;
  for (int round = 0; round < 50; ++round) {
    try {
      descend(12, &destroyed);
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()) != "bottom") return -1;
    }
  }
  return destroyed;
}

int main() {
  CUcontext context = start();
  std::vector<int> destroyed(4);
  std::vector<std::thread> threads;
  for (int& count : destroyed) {
    threads.emplace_back([&count, context] { count = throw_through_frames(context); });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : destroyed) std::printf("destroyed %d\n", count);
  try {
    throw_through_frames(context);
    throw 7;
  } catch (int number) {
    std::printf("caught %d\n", number);
  }
}
