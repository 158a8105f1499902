// Memory that the program got from the driver itself.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace direct_memory_test {

constexpr Address kThere = 0x5000001;  // managed and registered memory is not aligned to anything

class DirectMemoryTest : public AllocatorFixture {
 protected:
  Outcome adopt(Kind kind, Address address, std::size_t bytes, Tag tag = 0) {
    return allocator_.adopt({.kind = kind}, address, bytes, tag);
  }
  Result forget(Address address) { return allocator_.forget(address).status.result; }
};

TEST_F(DirectMemoryTest, DeviceMemoryIsASegmentWithOneBlock) {
  EXPECT_TRUE(adopt(Kind::device, kThere, 1000).status.ok());

  const DeviceStatistics now = statistics();
  EXPECT_EQ(now.segment.small_pool.current, 1);
  EXPECT_EQ(now.reserved_bytes.small_pool.current, 1000);
  EXPECT_EQ(now.allocated_bytes.small_pool.current, 1000);
  EXPECT_EQ(now.requested_bytes.small_pool.current, 1000);
  EXPECT_EQ(now.num_device_alloc, 1);
}

TEST_F(DirectMemoryTest, ItsPoolIsThatOfItsSize) {
  adopt(Kind::device, kThere, kMiB + 1);

  EXPECT_EQ(statistics().segment.large_pool.current, 1);
}

TEST_F(DirectMemoryTest, ForgettingUndoesAdopting) {
  adopt(Kind::device, kThere, 1000, 4);

  const Outcome out = allocator_.forget(kThere);

  EXPECT_EQ(out.tag, 4u);
  EXPECT_EQ(out.requested, 1000u);
  EXPECT_EQ(statistics().segment.all.current, 0);
  EXPECT_EQ(statistics().active_bytes.all.current, 0);
  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_EQ(tag(4).live_bytes, 0u);
}

TEST_F(DirectMemoryTest, OnlyTheExactStartCanBeForgotten) {
  adopt(Kind::device, kThere, 1000);

  EXPECT_EQ(forget(kThere + 1), Result::invalid);
  EXPECT_EQ(forget(kThere), Result::ok);
  EXPECT_EQ(forget(kThere), Result::invalid);
}

TEST_F(DirectMemoryTest, IsFoundAtInteriorAddressesButNotOwned) {
  adopt(Kind::managed, kThere, 1000, 4);

  const Found found = allocator_.find(kThere + 999);

  EXPECT_TRUE(found.direct && found.live && !found.owned);
  EXPECT_EQ(found.block.address, kThere);
  EXPECT_EQ(found.where.kind, Kind::managed);
  EXPECT_FALSE(allocator_.find(kThere).owned);
  EXPECT_FALSE(allocator_.find(kThere + 1000).direct);
  EXPECT_EQ(free(kThere), Result::invalid);
}

TEST_F(DirectMemoryTest, PinnedAndRegisteredMemoryIsTheHosts) {
  adopt(Kind::pinned, 0x1000, 100);
  adopt(Kind::registered, 0x2000, 50);
  EXPECT_EQ(forget(0x1000), Result::ok);

  const Snapshot snapshot = allocator_.snapshot();
  EXPECT_TRUE(snapshot.host_used);
  EXPECT_EQ(snapshot.host.segment.current, 1);
  EXPECT_EQ(snapshot.host.reserved_bytes.current, 50);
  EXPECT_EQ(snapshot.host.reserved_bytes.peak, 150);
  EXPECT_EQ(snapshot.host.active_requests.allocated, 2);
  EXPECT_EQ(snapshot.host.num_host_alloc, 2);
  EXPECT_EQ(snapshot.host.num_host_free, 1);
  EXPECT_TRUE(snapshot.devices.empty());
}

TEST_F(DirectMemoryTest, AMappingLiesInAReservedRangeAndBothLive) {
  adopt(Kind::address_range, 0x10000, 0x10000);
  adopt(Kind::mapping, 0x14000, 0x1000);
  adopt(Kind::device, 0x14000, 0x100);

  EXPECT_EQ(allocator_.snapshot().segments.size(), 3u);
  EXPECT_EQ(allocator_.find_direct(Kind::mapping, 0x14800).segment, 0x14000u);
  EXPECT_EQ(allocator_.find_direct(Kind::address_range, 0x14800).segment, 0x10000u);
  EXPECT_FALSE(allocator_.find_direct(Kind::mapping, 0x10000).direct);
}

TEST_F(DirectMemoryTest, HandlesStandForThemselvesHoweverManyBytesTheyHave) {
  adopt(Kind::array, 0x100, 1000);
  adopt(Kind::array, 0x101, 1000);
  adopt(Kind::physical, 0x100, 1000);

  EXPECT_EQ(allocator_.snapshot().segments.size(), 3u);
  EXPECT_FALSE(allocator_.find_direct(Kind::array, 0x102).direct);
  adopt(Kind::array, 0x101, 500);
  EXPECT_EQ(allocator_.find_direct(Kind::array, 0x101).segment_bytes, 500u);
  EXPECT_EQ(allocator_.snapshot().segments.size(), 3u);
}

TEST_F(DirectMemoryTest, AnAddressThatWasGivenAnewKeepsItsNewMemory) {
  adopt(Kind::device, kThere, 1000);
  const Found old = allocator_.find_direct(Kind::device, kThere);
  adopt(Kind::device, kThere, 200);

  EXPECT_EQ(allocator_.forget(Kind::device, kThere, old.serial).status.result, Result::invalid);

  EXPECT_EQ(statistics().reserved_bytes.all.current, 200);
  EXPECT_EQ(statistics().num_device_free, 1);
}

TEST_F(DirectMemoryTest, OtherKindsAreInTheLedgerOnly) {
  adopt(Kind::managed, 0x1000, 100, 1);
  adopt(Kind::stream_ordered, 0x2000, 50, 2);

  const Snapshot snapshot = allocator_.snapshot();
  ASSERT_EQ(snapshot.kinds.size(), 2u);
  EXPECT_EQ(snapshot.kinds[0].kind, Kind::managed);
  EXPECT_EQ(snapshot.kinds[0].current_bytes, 100u);
  EXPECT_EQ(snapshot.segments.size(), 2u);
  EXPECT_TRUE(snapshot.segments[0].is_direct);
  EXPECT_TRUE(snapshot.devices.empty());
  EXPECT_FALSE(snapshot.host_used);
}

TEST_F(DirectMemoryTest, ZeroBytesAreNotAdopted) {
  EXPECT_EQ(adopt(Kind::device, kThere, 0).status.result, Result::invalid);
  EXPECT_FALSE(allocator_.find(kThere).direct);
}

TEST_F(DirectMemoryTest, WhatTheDriverRefusedIsCounted) {
  using Why = CachingAllocator::Why;
  const auto end = [&](std::uint16_t device, Kind kind, Why why) {
    allocator_.end_promise({.device = device, .bytes = 0, .kind = kind}, why);
  };
  end(1, Kind::device, Why::refused);
  end(1, Kind::device, Why::refused);
  end(1, Kind::device, Why::unused);
  end(1, Kind::physical, Why::refused);  // is no plain memory

  const Snapshot snapshot = allocator_.snapshot();
  ASSERT_EQ(snapshot.devices.size(), 1U);
  EXPECT_EQ(snapshot.devices[0].device, 1);
  EXPECT_EQ(snapshot.devices[0].statistics.num_ooms, 2);
}

TEST_F(DirectMemoryTest, AnImpossibleRangeIsNotAdopted) {
  EXPECT_EQ(adopt(Kind::managed, ~Address{0} - 10, 100).status.result, Result::invalid);
  EXPECT_EQ(adopt(Kind::managed, 0, 100).status.result, Result::invalid);
}

TEST_F(DirectMemoryTest, MemoryFreedBehindOurBackIsReplaced) {
  adopt(Kind::device, 0x1000, 1000, 1);

  adopt(Kind::device, 0x1000, 200, 2);

  EXPECT_EQ(tag(1).live_bytes, 0u);
  EXPECT_EQ(tag(2).live_bytes, 200u);
  EXPECT_EQ(statistics().segment.all.current, 1);
}

TEST_F(DirectMemoryTest, EverythingThatANewRangeOverlapsIsReplaced) {
  adopt(Kind::device, 0x1000, 0x800);
  adopt(Kind::device, 0x1800, 0x800);
  adopt(Kind::device, 0x2000, 0x800);

  adopt(Kind::device, 0x1400, 0x800);

  EXPECT_EQ(forget(0x1000), Result::invalid);
  EXPECT_EQ(forget(0x1800), Result::invalid);
  EXPECT_EQ(forget(0x2000), Result::ok);
  EXPECT_EQ(forget(0x1400), Result::ok);
}

TEST_F(DirectMemoryTest, ATrimDoesNotTouchIt) {
  adopt(Kind::device, kThere, 1000);

  allocator_.trim();

  EXPECT_TRUE(allocator_.find(kThere).direct);
}

}  // namespace direct_memory_test
}  // namespace vramscope::test
