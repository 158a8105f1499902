// Four threads allocate and free at random until somebody kills them, and count in a file what they
// have begun and what they have done, size by size.
// SPDX-License-Identifier: Apache-2.0
// Arguments: FILE of 4 * 16 * 4 numbers of 64 bits (thread, size, then allocations begun and done,
// frees begun and done), SEED. The first 12 sizes are of device memory, the others are pinned.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

constexpr int kThreads = 4;
constexpr std::size_t kDeviceSizes = 12;
constexpr std::array<std::size_t, 16> kSizes = {
    1,       513,           4000,          70000,         kMiB - 1, kMiB, kMiB + 1, 2 * kMiB,
    5000000, 3 * kMiB + 77, 9 * kMiB + 78, 20 * kMiB + 1, 1000,     5000, 100000,   kMiB + 79};
enum Count { allocation_begun, allocation_done, free_begun, free_done, kCounts };
using Log = std::array<std::array<std::array<std::atomic<std::uint64_t>, kCounts>, kSizes.size()>,
                       kThreads>;

struct Block {
  std::size_t size;
  void* pinned;
  CUdeviceptr device;
};

static Block allocate_one(std::size_t size) {
  Block block{size, nullptr, 0};
  if (size < kDeviceSizes) {
    MUST(cuMemAlloc(&block.device, kSizes[size]));
  } else {
    MUST(cuMemHostAlloc(&block.pinned, kSizes[size], 0));
  }
  return block;
}

static void free_one(const Block& block) {
  MUST(block.pinned != nullptr ? cuMemFreeHost(block.pinned) : cuMemFree(block.device));
}

static void work(CUcontext context, decltype(Log{}[0]) & log, unsigned seed) {
  MUST(cuCtxSetCurrent(context));
  std::mt19937 random(seed);
  std::vector<Block> blocks;
  while (true) {
    if (blocks.size() < 40 && random() % 2 == 0) {
      const std::size_t size = random() % kSizes.size();
      ++log[size][allocation_begun];
      blocks.push_back(allocate_one(size));
      ++log[size][allocation_done];
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      ++log[block.size][free_begun];
      free_one(block);
      ++log[block.size][free_done];
    }
  }
}

int main(int argc, char** argv) {
  const int file = argc > 2 ? open(argv[1], O_RDWR) : -1;
  void* const pages = mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pages == MAP_FAILED) return 2;
  Log& log = *static_cast<Log*>(pages);
  const unsigned seed = static_cast<unsigned>(std::atoi(argv[2]));
  const CUcontext context = start();
  std::printf("ready\n");
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { work(context, log[i], seed * kThreads + i); });
  }
  for (std::thread& thread : threads) thread.join();
}
