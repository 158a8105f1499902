// CUB's CachingDeviceAllocator, from the toolkit's headers, over the simulated runtime.
// SPDX-License-Identifier: Apache-2.0
#include <cub/util_allocator.cuh>

#include "test/bench/plugin.h"
#include "test/bench/simulated_runtime.h"

using vramscope::bench::Plugin;
using Allocator = cub::CachingDeviceAllocator;

namespace {

// Its default: bins of 8^3 to 8^7 bytes, larger requests are never kept.
void* create_default(std::uint64_t capacity) {
  vramscope::bench::reset_runtime(capacity);
  return new Allocator(8, 3, 7, (6u << 20) - 1, true);
}

// Bins of powers of two up to 4 GiB, everything is kept.
void* create_keeping(std::uint64_t capacity) {
  vramscope::bench::reset_runtime(capacity);
  return new Allocator(2, 9, 32, Allocator::INVALID_SIZE, true);
}

void* allocate(void* self, std::size_t bytes, std::uint32_t) {
  void* address = nullptr;
  const auto error = static_cast<Allocator*>(self)->DeviceAllocate(0, &address, bytes, nullptr);
  return error == cudaSuccess ? address : nullptr;
}
void release(void* self, void* address) { static_cast<Allocator*>(self)->DeviceFree(0, address); }
void destroy(void* self) {
  static_cast<Allocator*>(self)->FreeAllCached();
  delete static_cast<Allocator*>(self);
}
std::uint64_t peak(void*) { return vramscope::bench::runtime_peak(); }

}  // namespace

VRAMSCOPE_BENCH_PLUGINS vramscope_bench_plugins(int* count) {
  static const Plugin plugins[] = {
      {"cub", 1, 256, create_default, allocate, release, destroy, peak},
      {"cub keeping all", 1, 256, create_keeping, allocate, release, destroy, peak},
  };
  *count = 2;
  return plugins;
}
