// Four threads allocate and free without an end, beside memory that stays, until a line comes.
// SPDX-License-Identifier: Apache-2.0
// Prints "ready" and reads lines: "more" allocates 1 MiB that stays, "less" frees the oldest such
// block, "quit" ends it at once; the end of the input, or any other line, frees everything and ends
// it.
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static std::atomic<bool> ends{false};

static void churn(CUcontext context, std::size_t unit) {
  MUST(cuCtxSetCurrent(context));
  for (std::size_t i = 0; !ends; ++i) {
    const CUdeviceptr block = allocate(unit * (1 + i * 7 % 100));
    MUST(cuMemFree(block));
  }
}

[[gnu::noinline]] static CUdeviceptr keep(std::size_t bytes) { return allocate(bytes); }

int main() {
  const CUcontext context = start();
  std::vector<CUdeviceptr> kept;
  for (int i = 0; i < 50; ++i) kept.push_back(keep(kMiB));
  std::vector<std::thread> threads;
  for (const std::size_t unit : {1009, 2003, 3001, 4001}) {
    threads.emplace_back(churn, context, unit);
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "quit") _exit(2);
    if (line == "more") {
      kept.push_back(keep(kMiB));
    } else if (line == "less") {
      MUST(cuMemFree(kept.front()));
      kept.erase(kept.begin());
    } else {
      break;
    }
    std::cout << line << std::endl;
  }
  ends = true;
  for (std::thread& one : threads) one.join();
  for (const CUdeviceptr block : kept) MUST(cuMemFree(block));
  std::cout << "done" << std::endl;
}
