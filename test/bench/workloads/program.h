// What the workloads of the benchmark share: calls that must succeed, buffers, random lengths.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

namespace workload {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

inline void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::exit(3);
}

// Memory of the device or pinned memory, freed with its owner. Nothing of it is read or written:
// only sizes and the order of calls matter here.
enum class Where : bool { device, pinned };
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes, Where where = Where::device) : where_(where) {
    if (where == Where::device) {
      must(cudaMalloc(&start_, bytes), "cudaMalloc");
    } else {
      must(cudaMallocHost(&start_, bytes), "cudaMallocHost");
    }
  }
  Buffer(Buffer&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), where_(other.where_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    const Buffer freed(std::move(*this));
    std::swap(start_, other.start_);
    std::swap(where_, other.where_);
    return *this;
  }
  ~Buffer() {
    if (start_ == nullptr) return;
    must(where_ == Where::device ? cudaFree(start_) : cudaFreeHost(start_), "free");
  }

 private:
  void* start_ = nullptr;
  Where where_ = Where::device;
};

// Lengths as texts have them: log-normal, many short ones and a long tail. Always the same ones.
class Lengths {
 public:
  explicit Lengths(std::uint64_t seed) : random_(seed) {}
  std::size_t next(double median, double spread, std::size_t least, std::size_t most) {
    std::normal_distribution<double> normal(std::log(median), spread);
    const auto length = static_cast<std::size_t>(std::exp(normal(random_)));
    return std::clamp(length, least, most);
  }
  // How many of something that comes `mean` times on average.
  int arrivals(double mean) { return std::poisson_distribution<int>(mean)(random_); }
  double share() { return std::uniform_real_distribution<double>()(random_); }

 private:
  std::mt19937_64 random_;
};

}  // namespace workload
