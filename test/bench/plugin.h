// One allocator under the benchmark: what a plugin, a shared object, tells the driver about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope::bench {

struct Plugin {
  const char* name;
  std::size_t bytes_per_unit;  // 1; a host allocator gets sizes divided by this
  std::size_t alignment;       // what it promises; 0: its addresses are not checked

  // An allocator over `capacity` bytes of device memory, null when that failed.
  void* (*create)(std::uint64_t capacity);
  // null: out of memory. `tag` says who asks.
  void* (*allocate)(void* self, std::size_t bytes, std::uint32_t tag);
  void (*release)(void* self, void* address);
  void (*destroy)(void* self);
  // Most bytes that were held from the device at once; 0: unknown.
  std::uint64_t (*peak_reserved)(void* self);
};

// What each plugin exports as `vramscope_bench_plugins`: an array and its length.
using PluginsOf = const Plugin* (*)(int* count);

}  // namespace vramscope::bench

#define VRAMSCOPE_BENCH_PLUGINS \
  extern "C" __attribute__((visibility("default"))) const vramscope::bench::Plugin*
