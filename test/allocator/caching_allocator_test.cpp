// Allocating, freeing, asking: what the program can observe.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/caching_allocator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

constexpr std::int32_t kSticky = 719;  // CUDA_ERROR_LAUNCH_FAILED

class CachingAllocatorTest : public AllocatorFixture {};

TEST_F(CachingAllocatorTest, ServesASecondRequestFromTheFirstSegment) {
  const Outcome first = allocate(1000);
  const Outcome second = allocate(1000);

  EXPECT_EQ(first.source, Source::new_segment);
  EXPECT_EQ(second.source, Source::hit);
  EXPECT_EQ(second.address, first.address + 1024);
  EXPECT_EQ(device_.counters().calls, 1u);
}

TEST_F(CachingAllocatorTest, TellsTheRoundedAndTheRequestedSize) {
  const Outcome out = allocate(1000);

  EXPECT_EQ(out.rounded, 1024u);
  EXPECT_EQ(out.requested, 1000u);
}

TEST_F(CachingAllocatorTest, AFreeTellsWhoseBlockItWas) {
  const Address address = address_of(1000, 7);

  const Outcome out = allocator_.free(address);

  EXPECT_EQ(out.tag, 7u);
  EXPECT_EQ(out.rounded, 1024u);
  EXPECT_EQ(out.requested, 1000u);
  EXPECT_EQ(out.where, kDevice0);
}

TEST_F(CachingAllocatorTest, RefusesZeroBytes) {
  EXPECT_EQ(allocate(0).status.result, Result::invalid);
}

TEST_F(CachingAllocatorTest, RefusesAnExbibyteUncounted) {
  allocator_.open(kDevice0);

  EXPECT_EQ(allocate(kRefused).status.result, Result::out_of_memory);
  EXPECT_EQ(allocate(~std::size_t{0}).status.result, Result::out_of_memory);

  EXPECT_EQ(statistics().num_ooms, 0);
  EXPECT_EQ(device_.counters().calls, 0u);
}

TEST_F(CachingAllocatorTest, CountsAnOutOfMemoryJustBelowAnExbibyte) {
  EXPECT_EQ(allocate(kRefused - 1).status.result, Result::out_of_memory);

  EXPECT_EQ(statistics().num_ooms, 1);
  EXPECT_EQ(statistics().num_alloc_retries, 1);
}

TEST_F(CachingAllocatorTest, ServesNoMemoryThatTheDriverShares) {
  EXPECT_EQ(allocate(512, 0, {.kind = Kind::managed}).status, (Status{Result::failed, 0}));
}

TEST_F(CachingAllocatorTest, RefusesInteriorForeignAndDoubleFrees) {
  const Address address = address_of(4096);

  EXPECT_EQ(free(address + 512), Result::invalid);
  EXPECT_EQ(free(address + 4096), Result::invalid);
  EXPECT_EQ(free(0x1234), Result::invalid);
  EXPECT_EQ(free(address), Result::ok);
  EXPECT_EQ(free(address), Result::invalid);
}

TEST_F(CachingAllocatorTest, OwnsItsSegmentsWhetherLiveOrFree) {
  const Address address = address_of(4096);

  EXPECT_TRUE(allocator_.find(address).owned);
  EXPECT_TRUE(allocator_.find(address + kSmallSegment - 1).owned);
  EXPECT_FALSE(allocator_.find(address + kSmallSegment).owned);
  EXPECT_FALSE(allocator_.find(address - 1).owned);
}

TEST_F(CachingAllocatorTest, OwnsNothingAfterATrim) {
  const Address address = address_of(4096);
  ASSERT_EQ(free(address), Result::ok);

  allocator_.trim();

  EXPECT_FALSE(allocator_.find(address).owned);
  EXPECT_EQ(device_.counters().live_count, 0u);
}

TEST_F(CachingAllocatorTest, FindsTheBlockAroundAnInteriorAddress) {
  static_cast<void>(address_of(512));
  const Address address = address_of(4000, 3);

  const Found found = allocator_.find(address + 4095);

  EXPECT_TRUE(found.owned && found.live && !found.direct);
  EXPECT_EQ(found.block.address, address);
  EXPECT_EQ(found.block.requested_size, 4000u);
  EXPECT_EQ(found.block.tag, 3u);
  EXPECT_EQ(found.segment_bytes, kSmallSegment);
}

TEST_F(CachingAllocatorTest, AFreedBlockIsOwnedButNotLive) {
  const Address address = address_of(512);
  ASSERT_EQ(free(address), Result::ok);

  const Found found = allocator_.find(address);

  EXPECT_TRUE(found.owned);
  EXPECT_FALSE(found.live);
}

TEST_F(CachingAllocatorTest, EachLifeOfABlockHasItsOwnSerial) {
  const Address address = address_of(512);
  const std::uint64_t first = allocator_.find(address).serial;
  ASSERT_EQ(free(address), Result::ok);

  ASSERT_EQ(address_of(512), address);

  EXPECT_NE(allocator_.find(address).serial, first);
}

TEST_F(CachingAllocatorTest, WaitsForTheDeviceBeforeAFree) {
  const Address address = address_of(512);

  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(CachingAllocatorTest, AFailedWaitFreesNothingAndKeepsItsCode) {
  const Address address = address_of(512);
  backend_.fail_wait(kSticky);

  const Outcome out = allocator_.free(address);

  EXPECT_EQ(out.status.code, kSticky);
  EXPECT_FALSE(out.status.ok());
  EXPECT_TRUE(allocator_.find(address).live);
}

TEST_F(CachingAllocatorTest, DoesNotMixTheBlocksOfTwoContexts) {
  const Address address = address_of(512);
  ASSERT_EQ(free(address), Result::ok);

  const Outcome out = allocate(512, 0, kOtherContext);

  EXPECT_EQ(out.source, Source::new_segment);
  EXPECT_EQ(statistics().segment.all.current, 2);
}

TEST_F(CachingAllocatorTest, ForgetsAPlaceWithoutAskingTheBackend) {
  const Address live = address_of(512, 1);
  const Address other = address_of(512, 2, kOtherContext);
  static_cast<void>(address_of(3 * kMiB, 1));
  allocator_.adopt(kDevice0, 0x100000, 100, 3);

  allocator_.forget_place(kDevice0);

  EXPECT_FALSE(allocator_.find(live).owned);
  EXPECT_TRUE(allocator_.find(other).owned);
  EXPECT_EQ(device_.counters().frees, 0u);
  EXPECT_EQ(statistics().segment.all.current, 1);
  EXPECT_EQ(tag(1).live_bytes, 0u);
  EXPECT_EQ(tag(3).live_bytes, 0u);
}

TEST_F(CachingAllocatorTest, IdleBytesAreThoseThatATrimReturns) {
  const Address address = address_of(3 * kMiB);
  static_cast<void>(address_of(512));
  EXPECT_EQ(allocator_.idle_bytes(0), 0u);

  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(allocator_.idle_bytes(0), kLargeSegment);
  EXPECT_EQ(allocator_.idle_bytes(1), 0u);
}

TEST_F(CachingAllocatorTest, ASnapshotIsEmptyBeforeFirstUse) {
  const Snapshot snapshot = allocator_.snapshot();

  EXPECT_TRUE(snapshot.devices.empty());
  EXPECT_TRUE(snapshot.segments.empty());
  EXPECT_FALSE(snapshot.host_used);
}

TEST_F(CachingAllocatorTest, ASnapshotListsSegmentsByKindDeviceAndAddress) {
  allocator_.adopt({.kind = Kind::managed}, 0x1000, 10, 0);
  const Address high = address_of(512);
  allocator_.adopt(kDevice0, 0x2000, 100, 0);

  const Snapshot snapshot = allocator_.snapshot();

  ASSERT_EQ(snapshot.segments.size(), 3u);
  EXPECT_EQ(snapshot.segments[0].address, 0x2000u);
  EXPECT_EQ(snapshot.segments[1].address, high);
  EXPECT_EQ(snapshot.segments[1].block_count, 2u);
  EXPECT_EQ(snapshot.segments[2].place.kind, Kind::managed);
}

// Another thread frees the same block, and a third party gets the address, while the first one
// waits for the device: its free must not take the new life.
TEST_F(CachingAllocatorTest, AFreeThatLostTheRaceLeavesTheNextLifeAlone) {
  const Address address = address_of(512);
  bool first = true;
  backend_.on_wait([&](Place) {
    if (!first) return;
    first = false;
    EXPECT_EQ(free(address), Result::ok);
    EXPECT_EQ(address_of(512), address);
  });

  EXPECT_EQ(free(address), Result::invalid);

  EXPECT_TRUE(allocator_.find(address).live);
}

TEST_F(CachingAllocatorTest, ExactlyOneOfTwoThreadsWinsADoubleFree) {
  constexpr int kRounds = 2000;
  std::vector<Address> addresses;
  for (int i = 0; i < kRounds; ++i) addresses.push_back(address_of(512));
  std::atomic<int> won{0};
  const auto free_all = [&] {
    for (const Address address : addresses) won += free(address) == Result::ok;
  };

  std::thread one(free_all);
  std::thread two(free_all);
  one.join();
  two.join();

  EXPECT_EQ(won, kRounds);
  EXPECT_EQ(statistics().allocation.all.current, 0);
}

TEST_F(CachingAllocatorTest, ThreadsThatAllocateAndFreeLeaveNothingBehind) {
  const auto work = [&](Tag tag) {
    std::vector<Address> held;
    for (std::size_t i = 0; i < 3000; ++i) {
      held.push_back(address_of(1 + i * 7919 % (3 * kMiB), tag));
      if (i % 3 == 2) {
        EXPECT_EQ(free(held[held.size() / 2]), Result::ok);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2));
      }
      if (i % 50 == 49) {
        for (const Address address : held) EXPECT_EQ(free(address), Result::ok);
        held.clear();
      }
      if (i % 500 == 0) allocator_.trim();
    }
  };

  std::thread one(work, 1);
  std::thread two(work, 2);
  one.join();
  two.join();
  allocator_.trim();

  EXPECT_EQ(device_.counters().live_count, 0u);
  EXPECT_EQ(tag(1).live_count + tag(2).live_count, 0u);
}

}  // namespace
}  // namespace vramscope::test
