// Several threads on one allocator: no block belongs to two, and every snapshot adds up.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/model/comparison.h"
#include "test/simulator/device/simulated_backend.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr Place kPinned{.kind = Kind::pinned, .context = 1};
constexpr int kThreads = 4;
constexpr int kCalls = 100000;  // of each thread

// Who holds which addresses, by the programs' own account.
class Claims {
 public:
  // False: part of it is somebody else's.
  bool claim(Address address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto after = held_.lower_bound(address);
    const bool is_free = (after == held_.end() || address + bytes <= after->first) &&
                         (after == held_.begin() || std::prev(after)->second <= address);
    held_[address] = address + bytes;
    return is_free;
  }
  void give_up(Address address) {
    const std::lock_guard lock(mutex_);
    held_.erase(address);
  }

 private:
  std::mutex mutex_;
  std::map<Address, Address> held_;
};

struct Worker {
  CachingAllocator& allocator;
  Claims& claims;
  std::atomic<int>& faults;
  std::uint64_t random;
  std::vector<Address> held = {};

  std::uint64_t next() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  }

  void allocate() {
    const std::uint64_t bytes = 1 + next() % (1ull << (4 + next() % 21));
    const std::uint64_t sort = next() % 16;
    const Place where = sort == 0 || sort > 11 ? kPinned : Place{};
    const Tag first = 1 + account_index(where.kind, where.device) * kTagsPerAccount;
    const Tag tag = first + static_cast<Tag>(next() % kTagsPerAccount);
    const Outcome outcome =
        allocator.allocate({.where = where, .bytes = bytes, .tag = tag, .dedicated = sort == 1});
    if (!outcome.status.ok()) return;
    if (!claims.claim(outcome.address, bytes)) ++faults;
    held.push_back(outcome.address);
  }

  void release() {
    if (held.empty()) return;
    std::swap(held[next() % held.size()], held.back());
    claims.give_up(held.back());  // before the free: afterwards it may be somebody else's
    if (!allocator.free(held.back()).status.ok()) ++faults;
    held.pop_back();
  }

  void run() {
    for (int i = 0; i < kCalls; ++i) {
      if (next() % 1000 == 0) allocator.trim();
      if (next() % 1000 == 0) allocator.trim_pinned(kPinned);
      next() % 2 == 0 ? allocate() : release();
    }
    while (!held.empty()) release();
  }
};

// Now and then the backend refuses to take a segment back.
class Threads : public testing::TestWithParam<std::tuple<ReuseTime, Policy>> {
 protected:
  [[nodiscard]] static Limits limits() {
    return {.policy = std::get<Policy>(GetParam()), .reuse = std::get<ReuseTime>(GetParam())};
  }
};

TEST_P(Threads, NeverShareABlockAndSnapshotsAddUp) {
  simulator::DeviceModel model;
  model.capacity = 200 * kMiB;  // tight: the ladder runs too
  model.reuse_addresses = true;
  simulator::SimulatedDevice device(model);
  simulator::SimulatedBackend backend(device);
  CachingAllocator allocator(backend, limits());
  std::atomic<int> releases = 0;
  backend.on_release([&](Place, Address) {
    if (++releases % 3 == 0) device.fail_release(1, {Result::failed, 900});
  });
  Claims claims;
  std::atomic<int> faults = 0;
  std::atomic<int> running = kThreads;

  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Worker{allocator, claims, faults, 88172645463325252u + i}.run();
      --running;
    });
  }
  std::string inconsistent;
  while (running > 0 && inconsistent.empty()) inconsistent = inconsistency(allocator.snapshot());
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(faults, 0);
  EXPECT_EQ(inconsistent, "");
  EXPECT_EQ(inconsistency(allocator.snapshot()), "");
  EXPECT_GT(releases, 3);
  backend.on_release({});
  device.fail_release(0, {});
  allocator.trim();
  allocator.trim_pinned(kPinned);
  EXPECT_EQ(device.counters().live_count, 0u);
  EXPECT_TRUE(allocator.snapshot().segments.empty());
}

// Of two threads that free the same block, one succeeds.
TEST_P(Threads, FreeABlockOnce) {
  simulator::SimulatedDevice device;
  simulator::SimulatedBackend backend(device);
  CachingAllocator allocator(backend, limits());
  constexpr int kRounds = 2000;
  std::vector<Address> blocks(kRounds);
  for (Address& block : blocks) {
    block = allocator.allocate({.where = {}, .bytes = 4096, .tag = 1}).address;
  }
  std::atomic<int> freed = 0;

  const auto free_all = [&] {
    for (const Address block : blocks) freed += allocator.free(block).status.ok() ? 1 : 0;
  };
  std::thread other(free_all);
  free_all();
  other.join();

  EXPECT_EQ(freed, kRounds);
  EXPECT_EQ(inconsistency(allocator.snapshot()), "");
}

std::string name_of(const testing::TestParamInfo<std::tuple<ReuseTime, Policy>>& info) {
  const auto [reuse, policy] = info.param;
  const std::string name = policy == Policy::pytorch ? "pytorch_" : "native_safe_";
  return name + (reuse == ReuseTime::at_free ? "at_free" : "at_reuse");
}

INSTANTIATE_TEST_SUITE_P(ReuseByPolicy, Threads,
                         testing::Combine(testing::Values(ReuseTime::at_free, ReuseTime::at_reuse),
                                          testing::Values(Policy::pytorch, Policy::native_safe)),
                         name_of);

}  // namespace
}  // namespace vramscope
