// Threads allocate, free and ask at random for a while, and count each call and its outcome.
// SPDX-License-Identifier: Apache-2.0
//
// soak SECONDS SEED [refusing]: prints "calls N" each second, and at the end one line of JSON:
// calls and failures by function, live bytes. `refusing`: the simulated device refuses some. Exit
// status 1, with a line, when an answer was wrong.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

static constexpr unsigned kThreads = 8;
static constexpr std::size_t kMostHeld = 150;  // blocks of a thread

struct Way {
  const char* allocate;
  const char* free;
};
static constexpr std::array<Way, 4> kWays{{{"cuMemAlloc_v2", "cuMemFree_v2"},
                                           {"cuMemHostAlloc", "cuMemFreeHost"},
                                           {"cuMemAllocAsync", "cuMemFreeAsync"},
                                           {"cuMemAllocManaged", "cuMemFree_v2"}}};

struct Count {
  std::uint64_t calls = 0, failures = 0;
};
struct Held {
  CUdeviceptr address;
  std::size_t bytes;
  unsigned way;
};
struct alignas(64) Log {
  std::array<Count, kWays.size()> allocations, frees;
  std::uint64_t live_bytes = 0, questions = 0, wrong = 0;
  std::atomic<std::uint64_t> calls{0};
};
static std::array<Log, kThreads> logs;
static std::atomic<bool> over{false};

static CUresult allocate_by(unsigned way, std::size_t bytes, CUdeviceptr& address) {
  void* host = nullptr;
  CUresult result = CUDA_SUCCESS;
  switch (way) {
    case 1:
      result = cuMemHostAlloc(&host, bytes, 0);
      address = reinterpret_cast<CUdeviceptr>(host);
      return result;
    case 2:
      return cuMemAllocAsync(&address, bytes, nullptr);
    case 3:
      return cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
    default:
      return cuMemAlloc(&address, bytes);
  }
}

static CUresult free_by(unsigned way, CUdeviceptr address) {
  if (way == 1) return cuMemFreeHost(reinterpret_cast<void*>(address));
  if (way == 2) return cuMemFreeAsync(address, nullptr);
  return cuMemFree(address);
}

static void count(Log& log, Count& function, CUresult result) {
  ++function.calls;
  function.failures += result != CUDA_SUCCESS;
  log.calls.store(log.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// A block answers for itself; a free inside it is refused.
static void ask(Log& log, const Held& held, bool frees_inside) {
  CUdeviceptr base = 0;
  std::size_t size = 0, free = 0, total = 0;
  ++log.questions;
  if (held.way == 0) {
    const bool is_known = cuMemGetAddressRange(&base, &size, held.address) == CUDA_SUCCESS;
    log.wrong += !is_known || base != held.address || size != held.bytes;
  }
  if (cuMemGetInfo(&free, &total) != CUDA_SUCCESS || free > total) ++log.wrong;
  if (!frees_inside || held.way != 0) return;
  const CUresult refused = cuMemFree(held.address + 1);
  count(log, log.frees[0], refused);
  log.wrong += refused == CUDA_SUCCESS;
}

static void live(CUcontext context, unsigned seed, Log& log) {
  std::mt19937 random(seed);
  std::vector<Held> held;
  MUST(cuCtxSetCurrent(context));
  while (!over.load(std::memory_order_relaxed)) {
    const unsigned dice = random();
    if (dice % 64 == 0 && !held.empty()) ask(log, held[dice / 64 % held.size()], dice % 128 == 0);
    if (held.size() < kMostHeld && (held.empty() || dice / 1024 % 2 == 0)) {
      const unsigned kind = dice / 4096 % 32;
      const unsigned way = kind < 4 ? kind % 4 : 0;
      const unsigned most = dice % 97 == 0 ? 8u << 20 : dice % 7 == 0 ? 1u << 20 : 32u << 10;
      Held block{.address = 0, .bytes = 1 + random() % most, .way = way};
      const CUresult result = allocate_by(way, block.bytes, block.address);
      count(log, log.allocations[way], result);
      if (result == CUDA_SUCCESS) held.push_back(block);
      log.wrong += result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY;
    } else {
      std::swap(held[random() % held.size()], held.back());
      const CUresult result = free_by(held.back().way, held.back().address);
      count(log, log.frees[held.back().way], result);
      log.wrong += result != CUDA_SUCCESS;
      held.pop_back();
    }
  }
  for (const Held& block : held) log.live_bytes += block.bytes;
}

static std::uint64_t all_calls() {
  std::uint64_t calls = 0;
  for (const Log& log : logs) calls += log.calls.load(std::memory_order_relaxed);
  return calls;
}

static void refuse_some() {
  using Fault = void(int, std::uint64_t, int);
  void* const found = dlsym(RTLD_DEFAULT, "vramscope_simulated_fault");
  if (found != nullptr) reinterpret_cast<Fault*>(found)(0, 1 + all_calls() % 5, 0);
}

static void print_log() {
  std::array<Count, 7> sums{};
  const std::array<const char*, 7> names{"cuMemAlloc_v2",     "cuMemHostAlloc", "cuMemAllocAsync",
                                         "cuMemAllocManaged", "cuMemFree_v2",   "cuMemFreeHost",
                                         "cuMemFreeAsync"};
  std::uint64_t live_bytes = 0, questions = 0, wrong = 0;
  const auto add = [&](const char* name, const Count& more) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (std::strcmp(names[i], name) != 0) continue;
      sums[i].calls += more.calls;
      sums[i].failures += more.failures;
    }
  };
  for (const Log& log : logs) {
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      add(kWays[way].allocate, log.allocations[way]);
      add(kWays[way].free, log.frees[way]);
    }
    live_bytes += log.live_bytes;
    questions += log.questions;
    wrong += log.wrong;
  }
  std::printf("{\"live_bytes\": %lu, \"questions\": %lu, \"wrong\": %lu, \"functions\": {",
              live_bytes, questions, wrong);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("%s\"%s\": [%lu, %lu]", i == 0 ? "" : ", ", names[i], sums[i].calls,
                sums[i].failures);
  }
  std::printf("}}\n");
  if (wrong != 0) std::exit(1);
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  const bool refuses = argc > 3 && std::strcmp(argv[3], "refusing") == 0;
  const CUcontext context = start();
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back(live, context, seed * kThreads + i, std::ref(logs[i]));
  }
  for (unsigned tenth = 1;; ++tenth) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    if (passed.count() >= seconds) break;
    usleep(100'000);
    if (refuses) refuse_some();
    if (tenth % 10 == 0) std::printf("calls %lu\n", all_calls()), std::fflush(stdout);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  print_log();
}
