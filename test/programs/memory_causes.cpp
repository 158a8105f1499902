// Runs out of memory, or not, for the cause that its first word names. With "slow" as the second it
// waits unevenly between its steps and long before its end: the same allocations, at other times.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "test/programs/driver.h"

namespace {

bool is_slow = false;

void wait(int ms) {
  if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

bool keep(std::size_t bytes) {
  CUdeviceptr block = 0;
  return cuMemAlloc(&block, bytes) == CUDA_SUCCESS;
}

bool use(std::size_t bytes) {
  CUdeviceptr block = 0;
  if (cuMemAlloc(&block, bytes) != CUDA_SUCCESS) return false;
  return cuMemFree(block) == CUDA_SUCCESS;
}

// Each step once; a slow one waits before a few of the first.
template <class Step>
void repeat(int steps, Step step) {
  for (int i = 0; i < steps; ++i) {
    if (i == 1 || i == 4) wait(60);
    if (!step(i)) return;
  }
}

[[gnu::noinline]] bool leak(std::size_t bytes) { return keep(bytes); }
[[gnu::noinline]] void load(int layers, std::size_t bytes) {
  repeat(layers, [&](int) { return keep(bytes); });
}
[[gnu::noinline]] void load_by_staging(int layers, std::size_t bytes) {
  repeat(layers, [&](int) { return use(4 * kMiB) && keep(bytes); });
}
[[gnu::noinline]] bool on_error(int call, std::size_t bytes) {
  CUdeviceptr block = 0;
  if (cuMemAlloc(&block, bytes) != CUDA_SUCCESS) return false;
  return call % 5 == 0 || cuMemFree(block) == CUDA_SUCCESS;
}

void run(const std::string& cause) {
  constexpr int kMost = 1000;
  if (cause == "leak") {
    load(4, 10 * kMiB);
    repeat(kMost, [](int) { return leak(2 * kMiB) && use(8 * kMiB); });
  } else if (cause == "weights") {  // as many, but at first
    load(100, 9 * kMiB);
    repeat(20, [](int) { return use(8 * kMiB); });
    keep(200 * kMiB);
  } else if (cause == "rare_leak") {
    repeat(kMost, [](int i) { return on_error(i, 8 * kMiB); });
  } else if (cause == "steady") {  // the same calls, freed
    load(90, 10 * kMiB);
    repeat(50, [](int) { return use(8 * kMiB); });
    keep(200 * kMiB);
  } else if (cause == "row") {  // a leak or a model: nobody can tell
    load(kMost, 10 * kMiB);
  } else if (cause == "staged") {
    load_by_staging(30, 30 * kMiB);
    repeat(60, [](int) { return use(8 * kMiB); });
    keep(200 * kMiB);
  } else if (cause == "small_leak") {  // beside a model that has most
    load(9, 100 * kMiB);
    repeat(kMost, [](int) { return leak(2 * kMiB) && use(16 * kMiB); });
  } else if (cause == "model") {
    load(9, 100 * kMiB);
    repeat(40, [](int) { return use(16 * kMiB); });
    keep(300 * kMiB);
  } else if (cause == "too_large") {
    repeat(20, [](int) { return use(8 * kMiB); });
    keep(2048 * kMiB);
  } else if (cause == "overlap") {  // of two temporary buffers
    repeat(20, [](int) { return use(8 * kMiB); });
    CUdeviceptr first = 0;
    MUST(cuMemAlloc(&first, 600 * kMiB));
    keep(600 * kMiB);
    MUST(cuMemFree(first));
  }
}

}  // namespace

int main(int count, char** words) {
  is_slow = count > 2 && std::strcmp(words[2], "slow") == 0;
  start();
  if (count > 1) run(words[1]);
  wait(500);
}
