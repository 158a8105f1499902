// Eight threads allocate memory of four kinds, free each other's, and print what each of them took.
// SPDX-License-Identifier: Apache-2.0
// Argument: rounds of each (60).
#include <sys/prctl.h>

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "test/programs/driver.h"

namespace {

constexpr unsigned kThreads = 8;
enum Kind : unsigned { device, pinned, managed, stream_ordered, kKinds };
constexpr const char* kNames[kKinds] = {"device", "pinned", "managed", "stream_ordered"};

struct Taken {
  unsigned long long count = 0, bytes = 0, left = 0;
};
struct Block {
  Kind kind = device;
  CUdeviceptr address = 0;
};

unsigned rounds = 60;
std::mutex mutex;
std::vector<Block> shared;  // whoever comes next frees it
std::array<std::array<Taken, kKinds>, kThreads> taken;

Block take(Kind kind, std::size_t bytes, CUstream stream) {
  Block block{.kind = kind, .address = 0};
  void* host = nullptr;
  if (kind == device) block.address = allocate(bytes);
  if (kind == pinned) MUST(cuMemHostAlloc(&host, bytes, 0));
  if (kind == managed) MUST(cuMemAllocManaged(&block.address, bytes, CU_MEM_ATTACH_GLOBAL));
  if (kind == stream_ordered) MUST(cuMemAllocAsync(&block.address, bytes, stream));
  if (host != nullptr) block.address = reinterpret_cast<CUdeviceptr>(host);
  return block;
}

void give_back(const Block& block, CUstream stream) {
  if (block.kind == pinned) return MUST(cuMemFreeHost(reinterpret_cast<void*>(block.address)));
  if (block.kind != stream_ordered) return MUST(cuMemFree(block.address));
  MUST(cuMemFreeAsync(block.address, stream));
}

// The last round's blocks stay: one of each kind and thread.
void work(CUcontext context, unsigned self) {
  prctl(PR_SET_NAME, ("worker " + std::to_string(self)).c_str());
  MUST(cuCtxSetCurrent(context));
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (unsigned round = 0; round < rounds; ++round) {
    const Kind kind = static_cast<Kind>(round % kKinds);
    const std::size_t bytes = 1 + (round * 2654435761u + self * 40503u) % 200000;
    const Block block = take(kind, bytes, stream);
    const bool stays = round + kKinds >= rounds;
    Taken& mine = taken[self][kind];
    mine.count += 1;
    mine.bytes += bytes;
    mine.left += stays ? bytes : 0;
    if (stays) continue;
    Block other = block;
    {
      const std::lock_guard lock(mutex);
      shared.push_back(block);
      std::swap(shared[round % shared.size()], shared.back());
      other = shared.back();
      shared.pop_back();
    }
    give_back(other, stream);
  }
  MUST(cuStreamSynchronize(stream));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) rounds = static_cast<unsigned>(std::atoi(argv[1]));
  CUcontext context = start();
  std::vector<std::thread> threads;
  for (unsigned self = 0; self < kThreads; ++self) threads.emplace_back(work, context, self);
  for (std::thread& thread : threads) thread.join();
  for (unsigned self = 0; self < kThreads; ++self) {
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      const Taken& mine = taken[self][kind];
      std::printf("worker %u %s %llu %llu %llu\n", self, kNames[kind], mine.count, mine.bytes,
                  mine.left);
    }
  }
}
