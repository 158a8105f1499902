// Our own allocator under each policy, as by default with its books in live memory, and without,
// all statistics and tag totals on, over a backend that costs nothing.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "allocator/caching_allocator.h"
#include "test/bench/plugin.h"

using vramscope::bench::Plugin;

namespace {

constexpr std::uint64_t kFirst = 0x7f0000000000;
constexpr std::uint64_t kGrain = 2 << 20;

// Addresses that only grow; nothing is ever refused.
class FreeOfCharge : public vramscope::Backend {
 public:
  explicit FreeOfCharge(std::uint64_t capacity) : capacity_(capacity) {}

  vramscope::Grant reserve(vramscope::Place, std::size_t bytes) noexcept override {
    vramscope::Grant grant;
    grant.address = next_.fetch_add((bytes + kGrain - 1) / kGrain * kGrain);
    return grant;
  }
  vramscope::Reply release(vramscope::Place, vramscope::Address) noexcept override { return {}; }
  vramscope::Reply wait(vramscope::Place) noexcept override { return {}; }
  vramscope::Reply wait_first(vramscope::Place) noexcept override { return {}; }
  bool may_wait(vramscope::Place) noexcept override { return true; }
  vramscope::Reply probe(vramscope::Place) noexcept override { return {}; }
  std::uint64_t total_bytes(vramscope::Place) noexcept override { return capacity_; }

 private:
  std::atomic<std::uint64_t> next_ = kFirst;
  std::uint64_t capacity_;
};

// Of one allocator; its addresses are free again after it. Without a file in /dev/shm nothing is
// live.
class LiveFile {
 public:
  explicit LiveFile(bool wanted) {
    if (!wanted) return;
    std::string path = "/dev/shm/vramscope-bench-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0 || memory_.begin(file, path.c_str()) != 0) return;
    path_ = path;
    close(file);
  }
  ~LiveFile() {
    if (!memory_.is_live()) return;
    munmap(memory_.header(), vramscope::kLiveParts * vramscope::kLivePartBytes);
    unlink(path_.c_str());
  }
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;
  vramscope::LiveMemory* memory() { return memory_.is_live() ? &memory_ : nullptr; }

 private:
  vramscope::LiveMemory memory_;
  std::string path_;
};

struct Subject {
  Subject(std::uint64_t capacity, vramscope::Policy policy, bool is_live)
      : backend(capacity), file(is_live), allocator(backend, {.policy = policy}, file.memory()) {}
  FreeOfCharge backend;
  LiveFile file;
  vramscope::CachingAllocator allocator;
};

template <vramscope::Policy policy, bool is_live>
void* create(std::uint64_t capacity) {
  return new Subject(capacity, policy, is_live);
}

void* allocate(void* self, std::size_t bytes, std::uint32_t tag) {
  vramscope::CachingAllocator& allocator = static_cast<Subject*>(self)->allocator;
  const vramscope::Outcome outcome = allocator.allocate({.where = {}, .bytes = bytes, .tag = tag});
  return outcome.status.ok() ? reinterpret_cast<void*>(outcome.address) : nullptr;
}

void release(void* self, void* address) {
  (void)static_cast<Subject*>(self)->allocator.free(reinterpret_cast<std::uint64_t>(address));
}

void destroy(void* self) { delete static_cast<Subject*>(self); }

std::uint64_t peak(void* self) {
  const vramscope::Snapshot snapshot = static_cast<Subject*>(self)->allocator.snapshot();
  if (snapshot.devices.empty()) return 0;
  return static_cast<std::uint64_t>(snapshot.devices[0].statistics.reserved_bytes.all.peak);
}

}  // namespace

// A build whose lock has no bias (-Dbias=disabled) can be measured beside the usual one.
#ifdef VRAMSCOPE_NO_BIAS
#define LOCK "unbiased"
#else
#define LOCK "vramscope"
#endif

VRAMSCOPE_BENCH_PLUGINS vramscope_bench_plugins(int* count) {
  using vramscope::Policy;
  static const Plugin plugins[] = {
      {LOCK " native-safe", 1, 512, create<Policy::native_safe, true>, allocate, release, destroy,
       peak},
      {LOCK " pytorch", 1, 512, create<Policy::pytorch, true>, allocate, release, destroy, peak},
      {LOCK " without a live file", 1, 512, create<Policy::native_safe, false>, allocate, release,
       destroy, peak}};
  *count = 3;
  return plugins;
}
