// A limit of what can be reached: a general allocator with thread caches and no statistics.
// SPDX-License-Identifier: Apache-2.0
#include <mimalloc.h>

#include "test/bench/plugin.h"

using vramscope::bench::Plugin;

namespace {

char something;

void* create(std::uint64_t) { return &something; }
void destroy(void*) {}
std::uint64_t unknown(void*) { return 0; }
void* allocate(void*, std::size_t bytes, std::uint32_t) { return mi_malloc(bytes); }
void release(void*, void* address) { mi_free(address); }

}  // namespace

VRAMSCOPE_BENCH_PLUGINS vramscope_bench_plugins(int* count) {
  static const Plugin plugin = {"mimalloc", 1024, 8, create, allocate, release, destroy, unknown};
  *count = 1;
  return &plugin;
}
