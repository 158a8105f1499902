// Limits of what can be reached: the harness itself and the C library's allocator.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "test/bench/plugin.h"

using vramscope::bench::Plugin;

namespace {

char something;

void* create(std::uint64_t) { return &something; }
void destroy(void*) {}
std::uint64_t unknown(void*) { return 0; }

void* nothing(void*, std::size_t, std::uint32_t) { return &something; }
void forget(void*, void*) {}

void* allocate(void*, std::size_t bytes, std::uint32_t) { return std::malloc(bytes); }
void release(void*, void* address) { std::free(address); }

}  // namespace

VRAMSCOPE_BENCH_PLUGINS vramscope_bench_plugins(int* count) {
  // Sizes divided by 1024, so that the host allocator stays on its fast paths.
  static const Plugin plugins[] = {
      {"floor", 1, 0, create, nothing, forget, destroy, unknown},
      {"glibc", 1024, 16, create, allocate, release, destroy, unknown},
  };
  *count = 2;
  return plugins;
}
