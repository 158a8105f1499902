// A device that seems smaller than it is.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

constexpr std::uint64_t kLimit = 100 * kMiB;
constexpr Address kThere = 0x5000000;

class CapacityTest : public AllocatorFixture {
 protected:
  explicit CapacityTest(Limits limits = {.exact_fallback = false})
      : AllocatorFixture(1024 * kMiB, limits) {
    allocator_.set_capacity(0, kLimit);
  }
  Outcome adopt(Kind kind, std::size_t bytes, Promise promise = {}, Address address = kThere) {
    return allocator_.adopt({.kind = kind}, address, bytes, 0, promise);
  }
  DeviceCapacity capacity() const { return allocator_.capacity(0); }
};

TEST_F(CapacityTest, WhatTheLimitLeavesNoRoomForIsRefusedUnasked) {
  ASSERT_TRUE(allocate(60 * kMiB).status.ok());

  const Outcome out = allocate(60 * kMiB);

  EXPECT_EQ(out.status, (Status{Result::out_of_memory, 0}));
  EXPECT_TRUE(out.by_limit);
  EXPECT_EQ(out.counted_bytes, allocator_.capacity(0).counted());  // alone: nothing changed since
  EXPECT_GT(out.counted_bytes, 0U);
  EXPECT_EQ(out.backend_ns, 0u);
  EXPECT_EQ(statistics().num_ooms, 1);
  EXPECT_EQ(capacity().refusals, 1u);
  EXPECT_TRUE(allocate(40 * kMiB).status.ok());
  EXPECT_EQ(capacity().held, kLimit);
}

TEST_F(CapacityTest, IdleSegmentsMakeRoomFirst) {
  ASSERT_EQ(free(address_of(60 * kMiB)), Result::ok);

  const Outcome out = allocate(80 * kMiB);

  EXPECT_EQ(out.source, Source::after_trim);
  EXPECT_FALSE(out.by_limit);
  EXPECT_EQ(capacity().held, 80 * kMiB);
  EXPECT_EQ(capacity().refusals, 0u);
}

TEST_F(CapacityTest, DirectMemoryOfEveryKindOnTheDeviceCounts) {
  adopt(Kind::graph, 50 * kMiB);
  adopt(Kind::stream_ordered, 20 * kMiB, {}, 0x90000000);
  adopt(Kind::array, 5 * kMiB, {}, 0xa0000000);  // three pages
  adopt(Kind::physical, 5 * kMiB, {}, 0xa0000000);
  adopt(Kind::mapping, 500 * kMiB, {}, 0xb0000000);  // of memory that counts already
  adopt(Kind::imported, 500 * kMiB, {}, 0xf0000000);
  adopt(Kind::registered, 500 * kMiB, {}, 0x150000000);

  adopt(Kind::managed, 500 * kMiB, {}, 0x190000000);  // its pages give way

  EXPECT_EQ(capacity().held, 580 * kMiB);
  EXPECT_EQ(capacity().counted(), 81 * kMiB);
  EXPECT_FALSE(allocate(40 * kMiB).status.ok());
  ASSERT_TRUE(allocator_.forget(kThere).status.ok());
  EXPECT_TRUE(allocate(40 * kMiB).status.ok());
}

// The driver gives memory out in pages of 2 MiB, shared by allocations below 1 MiB.
TEST_F(CapacityTest, KnowsWhatTheDriverRoundsUp) {
  adopt(Kind::device, 1'150'000);
  EXPECT_EQ(capacity().rounding, 2 * kMiB - 1'150'000);
  adopt(Kind::device, 1000, {}, 0x90000000);
  adopt(Kind::device, 1000, {}, 0xa0000000);
  EXPECT_EQ(capacity().rounding, 4 * kMiB - 1'152'000);
  EXPECT_EQ(capacity().held, 1'152'000u);
  EXPECT_EQ(capacity().counted(), 4 * kMiB);

  ASSERT_TRUE(allocator_.forget(kThere).status.ok());
  ASSERT_TRUE(allocator_.forget(0x90000000).status.ok());
  EXPECT_EQ(capacity().rounding, 2 * kMiB - 1000);
  ASSERT_TRUE(allocator_.forget(0xa0000000).status.ok());
  EXPECT_EQ(capacity().rounding, 0u);
}

// 100 MiB have 50 pages: as many blocks of 1.5 MiB, and none of less beside them.
TEST_F(CapacityTest, TheLimitCountsWholePages) {
  const Promise promise{.device = 0, .bytes = 3 * kMiB / 2};
  for (Address at = 0; at < 50; ++at) {
    ASSERT_TRUE(allocator_.promise(promise));
    adopt(Kind::device, promise.bytes, promise, kThere + at * 4 * kMiB);
  }

  EXPECT_FALSE(allocator_.promise(promise));
  EXPECT_FALSE(allocator_.promise({.device = 0, .bytes = 1000}));
  ASSERT_TRUE(allocator_.forget(kThere).status.ok());
  EXPECT_TRUE(allocator_.promise({.device = 0, .bytes = 1000}));
  EXPECT_TRUE(allocator_.promise({.device = 0, .bytes = kMiB}));  // in the same page
  EXPECT_FALSE(allocator_.promise({.device = 0, .bytes = kMiB}));
}

TEST_F(CapacityTest, WhatTheDriverKeepsCountsWhileItDoes) {
  allocator_.set_capacity(0, kLimit, 30 * kMiB);
  EXPECT_EQ(capacity().counted(), 30 * kMiB);
  EXPECT_EQ(capacity().held, 0u);
  EXPECT_FALSE(allocate(80 * kMiB).status.ok());
  ASSERT_TRUE(allocate(60 * kMiB).status.ok());
  EXPECT_FALSE(allocator_.promise({.device = 0, .bytes = 20 * kMiB}));

  allocator_.set_capacity(0, kLimit, 0);

  EXPECT_TRUE(allocator_.promise({.device = 0, .bytes = 20 * kMiB}));
}

// Of a Jetson or a GB10.
TEST_F(CapacityTest, PinnedAndManagedMemoryCountWhereTheDevicesMemoryIsTheHosts) {
  adopt(Kind::pinned, 60 * kMiB);
  adopt(Kind::managed, 20 * kMiB, {}, 0x90000000);
  EXPECT_EQ(capacity().counted(), 0u);
  EXPECT_FALSE(capacity().is_hosts);

  allocator_.set_capacity(0, kLimit, 0, CachingAllocator::Memory::is_hosts);

  EXPECT_TRUE(capacity().is_hosts);
  EXPECT_EQ(capacity().counted(), 80 * kMiB);
  EXPECT_EQ(capacity().managed, 0u);
  EXPECT_FALSE(allocate(40 * kMiB).status.ok());
  EXPECT_FALSE(allocator_.promise({.device = 0, .bytes = 40 * kMiB, .kind = Kind::pinned}));
  EXPECT_EQ(capacity().refusals, 2u);
  ASSERT_TRUE(allocator_.forget(Kind::pinned, kThere).status.ok());
  EXPECT_EQ(capacity().counted(), 20 * kMiB);
  const Promise promise{.device = 0, .bytes = 40 * kMiB, .kind = Kind::pinned};
  EXPECT_TRUE(allocator_.promise(promise));
  EXPECT_EQ(capacity().counted(), 60 * kMiB);
  adopt(Kind::pinned, 40 * kMiB, promise);
  EXPECT_EQ(capacity().counted(), 60 * kMiB);
}

TEST_F(CapacityTest, OwnPinnedSegmentsAreRefusedByTheLimitOfTheHostsDevice) {
  allocator_.set_capacity(0, kLimit, 0, CachingAllocator::Memory::is_hosts);
  ASSERT_TRUE(allocate(60 * kMiB).status.ok());

  const Outcome out = allocator_.allocate({.where = {.kind = Kind::pinned}, .bytes = 60 * kMiB});

  EXPECT_EQ(out.status, (Status{Result::out_of_memory, 0}));
  EXPECT_TRUE(out.by_limit);
  EXPECT_EQ(capacity().refusals, 1u);
  EXPECT_TRUE(
      allocator_.allocate({.where = {.kind = Kind::pinned}, .bytes = 30 * kMiB}).status.ok());
  EXPECT_GE(capacity().counted(), 90 * kMiB);
}

// More contexts than the limit has room for are not refused; nothing else fits beside them.
TEST_F(CapacityTest, TheDriverMayKeepMoreThanTheLimit) {
  allocator_.set_capacity(0, kLimit, 2 * kLimit);

  EXPECT_FALSE(allocate(1000).status.ok());
  EXPECT_EQ(capacity().refusals, 1u);
}

TEST_F(CapacityTest, APromiseKeepsRoomUntilItsMemoryIsThere) {
  const Promise promise{.device = 0, .bytes = 90 * kMiB};
  ASSERT_TRUE(allocator_.promise(promise));
  EXPECT_FALSE(allocate(20 * kMiB).status.ok());
  EXPECT_FALSE(allocator_.promise({.device = 0, .bytes = 20 * kMiB}));

  adopt(Kind::managed, 90 * kMiB, promise);

  EXPECT_EQ(capacity().held, 90 * kMiB);
  EXPECT_EQ(capacity().refusals, 2u);
  ASSERT_TRUE(allocator_.promise({.device = 0, .bytes = 10 * kMiB}));
  allocator_.end_promise({.device = 0, .bytes = 10 * kMiB});
  EXPECT_EQ(capacity().held, 90 * kMiB);
}

TEST_F(CapacityTest, APromiseEndsEvenIfNothingIsAdopted) {
  const Promise promise{.device = 0, .bytes = kMiB};
  ASSERT_TRUE(allocator_.promise(promise));

  EXPECT_FALSE(adopt(Kind::managed, 0, promise).status.ok());

  EXPECT_EQ(capacity().held, 0u);
}

TEST_F(CapacityTest, IdleSegmentsMakeRoomForPromisesToo) {
  ASSERT_EQ(free(address_of(60 * kMiB)), Result::ok);

  EXPECT_TRUE(allocator_.promise({.device = 0, .bytes = kLimit}));

  EXPECT_EQ(statistics().segment.all.current, 0);
  allocator_.end_promise({.device = 0, .bytes = kLimit});
}

TEST_F(CapacityTest, OtherDevicesAreAsLargeAsTheyAre) {
  EXPECT_TRUE(allocator_.promise({.device = 1, .bytes = std::uint64_t{1} << 50}));
  EXPECT_EQ(allocator_.capacity(1).limit, Limits::kUnlimited);
}

TEST_F(CapacityTest, AnotherContextSharesTheDevice) {
  ASSERT_TRUE(allocate(60 * kMiB).status.ok());

  EXPECT_FALSE(allocate(60 * kMiB, 0, kOtherContext).status.ok());
}

class HalfOfALimitedDevice : public CapacityTest {
 protected:
  HalfOfALimitedDevice() : CapacityTest({.memory_fraction = 0.5, .exact_fallback = false}) {}
};

TEST_F(HalfOfALimitedDevice, FractionsAreOfTheSmallerDevice) {
  EXPECT_TRUE(allocate(50 * kMiB).status.ok());
  EXPECT_FALSE(allocate(2 * kMiB).status.ok());
}

class ExactFallbackInALimit : public CapacityTest {
 protected:
  ExactFallbackInALimit() : CapacityTest({.exact_fallback = true}) {}
};

TEST_F(ExactFallbackInALimit, TheLastRoomIsGivenExactly) {
  ASSERT_TRUE(allocate(96 * kMiB).status.ok());

  const Outcome out = allocate(4 * kMiB);  // of a shared segment of 20 MiB otherwise

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(capacity().held, kLimit);
}

// Says with each segment how much of the device is free.
class Sampling final : public Backend {
 public:
  Grant reserve(Place, std::size_t) noexcept override {
    return {.status = {},
            .address = 0x7f0000000000,
            .free_bytes = 40 * kMiB,
            .total_bytes = 100 * kMiB};
  }
  Reply release(Place, Address) noexcept override { return {}; }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place) noexcept override { return 100 * kMiB; }
};

TEST(Sample, TellsWhatIsUsedByNothingThatIsRecorded) {
  Sampling backend;
  CachingAllocator allocator(backend, {});
  allocator.adopt({.kind = Kind::managed}, kThere, 8 * kMiB, 0);

  const Outcome miss = allocator.allocate({.bytes = kMiB, .tag = 1});
  const Outcome hit = allocator.allocate({.bytes = kMiB, .tag = 1});

  EXPECT_TRUE(miss.has_sample);
  EXPECT_EQ(miss.unrecorded_bytes, (100 - 40 - 8 - 2) * kMiB);
  EXPECT_FALSE(hit.has_sample);
}

}  // namespace
}  // namespace vramscope::test
