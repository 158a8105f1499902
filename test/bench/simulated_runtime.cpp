// The calls of the CUDA runtime that CUB needs: addresses without memory, work done at once.
// SPDX-License-Identifier: Apache-2.0
#include "test/bench/simulated_runtime.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vramscope::bench {
namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kGrain = 2 << 20;  // large allocations begin on their own page
constexpr std::uint64_t kSmallGrain = 512;

// Threads: any. Freed addresses come back for requests of the same size, like a driver's.
class Runtime {
 public:
  cudaError_t allocate(void** address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t grain = bytes < kGrain / 2 ? kSmallGrain : kGrain;
    const std::uint64_t size = (bytes + grain - 1) / grain * grain;
    if (held_ + size > capacity_) return error_ = cudaErrorMemoryAllocation;
    held_ += size;
    peak_ = std::max(peak_, held_);
    std::vector<std::uint64_t>& unused = unused_[size];
    if (unused.empty()) {
      next_ = (next_ + grain - 1) / grain * grain;
      unused.push_back(next_);
      next_ += size;
    }
    live_[unused.back()] = size;
    *address = reinterpret_cast<void*>(unused.back());
    unused.pop_back();
    return cudaSuccess;
  }

  cudaError_t release(void* address) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(reinterpret_cast<std::uint64_t>(address));
    if (found == live_.end()) return error_ = cudaErrorInvalidValue;
    held_ -= found->second;
    unused_[found->second].push_back(found->first);
    live_.erase(found);
    return cudaSuccess;
  }

  void reset(std::uint64_t capacity) {
    const std::lock_guard lock(mutex_);
    live_.clear();
    unused_.clear();
    next_ = kFirst;
    held_ = peak_ = 0;
    capacity_ = capacity;
    error_ = cudaSuccess;
  }

  cudaError_t take_error() { return std::exchange(error_, cudaSuccess); }
  [[nodiscard]] std::uint64_t peak() const { return peak_; }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> live_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> unused_;
  std::uint64_t next_ = kFirst;
  std::uint64_t held_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t capacity_ = 0;
  cudaError_t error_ = cudaSuccess;
};

Runtime& runtime() {
  static Runtime* const only = new Runtime;
  return *only;
}

}  // namespace

void reset_runtime(std::uint64_t capacity) { runtime().reset(capacity); }
std::uint64_t runtime_peak() { return runtime().peak(); }

}  // namespace vramscope::bench

using vramscope::bench::runtime;

extern "C" {
cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return runtime().allocate(address, bytes);
}
cudaError_t cudaFree(void* address) { return runtime().release(address); }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return runtime().take_error(); }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "simulated"; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new char);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<char*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
}
