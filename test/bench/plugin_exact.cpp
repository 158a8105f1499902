// The measuring prototype that our allocator is compared with, behind the C library's lock. Its
// source is not part of this repository: this file is built only where it lies beside.
// SPDX-License-Identifier: Apache-2.0
#define EXACT_LIBRARY
#include EXACT_SOURCE

#include <mutex>

#include "test/bench/plugin.h"

using vramscope::bench::Plugin;

namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kGrain = 2 << 20;
constexpr std::uint64_t kCapacity = std::uint64_t{1} << 40;

// Addresses that only grow; nothing is ever refused.
struct FreeOfCharge {
  std::uint64_t next = kFirst;
  std::uint64_t capacity() const { return kCapacity; }
  std::uint64_t alloc(std::uint64_t bytes) {
    const std::uint64_t address = next;
    next += (bytes + kGrain - 1) / kGrain * kGrain;
    return address;
  }
  void release(std::uint64_t, std::uint64_t) {}
};

struct Subject {
  std::mutex mutex;
  exact::Core<FreeOfCharge> core;
};

void* create(std::uint64_t) { return new Subject; }

void* allocate(void* self, std::size_t bytes, std::uint32_t tag) {
  Subject* subject = static_cast<Subject*>(self);
  const std::lock_guard lock(subject->mutex);
  return reinterpret_cast<void*>(subject->core.alloc(bytes, tag & 1023));
}

void release(void* self, void* address) {
  Subject* subject = static_cast<Subject*>(self);
  const std::lock_guard lock(subject->mutex);
  subject->core.release(reinterpret_cast<std::uint64_t>(address));
}

void destroy(void* self) { delete static_cast<Subject*>(self); }

std::uint64_t peak(void* self) {
  return static_cast<std::uint64_t>(static_cast<Subject*>(self)->core.reserved_bytes[0].peak);
}

}  // namespace

VRAMSCOPE_BENCH_PLUGINS vramscope_bench_plugins(int* count) {
  static const Plugin plugin = {"exact", 1, 512, create, allocate, release, destroy, peak};
  *count = 1;
  return &plugin;
}
