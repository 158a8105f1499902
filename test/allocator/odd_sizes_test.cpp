// Requests of impossible sizes, and requests while a slow backend is at work.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace odd_sizes_test {

constexpr Place kPinned{.kind = Kind::pinned, .context = 1};

// Every way to be served, under options that round.
class OddSizes : public AllocatorFixture, public testing::WithParamInterface<Request> {
 protected:
  static Limits rounding() {
    Limits limits{.max_split_size = 64 * kMiB, .garbage_collection_threshold = 0.5};
    limits.roundup_power2_divisions.fill(1U << 30);
    limits.roundup_power2_divisions[Limits::kIntervals - 1] = 2;
    return limits;
  }
  OddSizes() : AllocatorFixture(1024 * kMiB, rounding()) {}

  Outcome of(std::size_t bytes) {
    Request request = GetParam();
    request.bytes = bytes;
    return allocator_.allocate(request);
  }
};

TEST_P(OddSizes, NoBytesAreNoAllocation) {
  EXPECT_EQ(of(0).status, (Status{Result::invalid, 0}));
  EXPECT_EQ(device_.counters().calls, 0u);
}

TEST_P(OddSizes, OneByteIsOne) {
  const Outcome out = of(1);

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(out.requested, 1u);
  EXPECT_EQ(free(out.address), Result::ok);
}

TEST_P(OddSizes, WhatNobodyHasIsRefusedWithoutACall) {
  for (const std::uint64_t bytes :
       {1ull << 60, (1ull << 60) + 1, 1ull << 63, ~0ull - 511, ~0ull - 1, ~0ull}) {
    EXPECT_EQ(of(bytes).status, (Status{Result::out_of_memory, 0})) << bytes;
  }
  EXPECT_EQ(device_.counters().calls, 0u);
}

TEST_P(OddSizes, RoundingDoesNotOverflow) {
  for (const std::uint64_t bytes : {(1ull << 60) - 1, (1ull << 60) - 512, (1ull << 59) + 1,
                                    (1ull << 41) + 1, (1ull << 41) - 1}) {
    EXPECT_EQ(of(bytes).status.result, Result::out_of_memory) << bytes;
  }
  EXPECT_EQ(device_.counters().live_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Table, OddSizes,
                         testing::Values(Request{}, Request{.dedicated = true},
                                         Request{.where = kPinned}),
                         [](const auto& info) {
                           const Request& request = info.param;
                           if (request.where.kind == Kind::pinned) return std::string("Pinned");
                           return std::string(request.dedicated ? "Dedicated" : "Pool");
                         });

using SlowBackend = AllocatorFixture;

TEST_F(SlowBackend, AnotherThreadFreesAndAllocatesMeanwhile) {
  const Address small = address_of(1000);
  std::atomic<bool> is_asked{false}, is_done{false};
  backend_.on_reserve([&](Place, std::size_t) {
    is_asked = true;
    is_asked.notify_all();
    is_done.wait(false);
  });

  std::thread slow([&] { EXPECT_EQ(allocate(50 * kMiB).source, Source::new_segment); });
  is_asked.wait(false);
  EXPECT_EQ(free(small), Result::ok);
  EXPECT_EQ(allocate(2000).source, Source::hit);
  is_done = true;
  is_done.notify_all();
  slow.join();

  EXPECT_EQ(statistics().segment.all.current, 2);
}

TEST_F(SlowBackend, AnotherThreadFreesWhileASegmentGoesBack) {
  const Address live = address_of(50 * kMiB);
  ASSERT_EQ(free(address_of(30 * kMiB)), Result::ok);
  std::atomic<bool> is_asked{false}, is_done{false};
  backend_.on_release([&](Place, Address) {
    is_asked = true;
    is_asked.notify_all();
    is_done.wait(false);
  });

  std::thread slow([&] { allocator_.trim(); });
  is_asked.wait(false);
  EXPECT_EQ(free(live), Result::ok);
  EXPECT_EQ(allocate(50 * kMiB).address, live);
  is_done = true;
  is_done.notify_all();
  slow.join();

  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_EQ(statistics().reserved_bytes.all.current, std::int64_t{50 * kMiB});
}

}  // namespace odd_sizes_test
}  // namespace vramscope::test
