// Dedicated device memory: exact sizes, reuse whole, exports, completion before reuse, giving back.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

class DedicatedMemory : public AllocatorFixture {
 protected:
  explicit DedicatedMemory(Limits limits = {.exact_fallback = false})
      : AllocatorFixture(64 * kMiB, limits) {}

  Outcome allocate_whole(std::size_t bytes, Place where = kDevice0) {
    return allocator_.allocate({.where = where, .bytes = bytes, .tag = 1, .dedicated = true});
  }
  Address dedicated(std::size_t bytes) {
    const Outcome out = allocate_whole(bytes);
    EXPECT_TRUE(out.status.ok());
    return out.address;
  }
  SegmentSnapshot segment_at(Address address) const {
    for (const SegmentSnapshot& segment : allocator_.snapshot().segments) {
      if (segment.address == address) return segment;
    }
    ADD_FAILURE() << "no segment begins there";
    return {};
  }
};

TEST_F(DedicatedMemory, IsASegmentOfExactlyTheRequestedBytes) {
  const Outcome out = allocate_whole(1001);

  EXPECT_EQ(out.rounded, 1001u);
  EXPECT_EQ(out.source, Source::new_segment);
  EXPECT_EQ(device_.find(out.address)->bytes, 1001u);
  const SegmentSnapshot segment = segment_at(out.address);
  EXPECT_EQ(segment.total_size, 1001u);
  EXPECT_EQ(segment.block_count, 1u);
  EXPECT_TRUE(segment.is_small);
  EXPECT_TRUE(segment.is_dedicated);
  EXPECT_FALSE(segment.is_exported);
}

TEST_F(DedicatedMemory, CountsInThePoolOfItsSize) {
  const Address small = dedicated(kMiB);
  dedicated(kMiB + 1);

  EXPECT_EQ(statistics().segment.small_pool.current, 1);
  EXPECT_EQ(statistics().reserved_bytes.large_pool.current, std::int64_t{kMiB + 1});
  EXPECT_EQ(statistics().allocated_bytes.all.current, std::int64_t{2 * kMiB + 1});
  EXPECT_EQ(statistics().requested_bytes.all.current, std::int64_t{2 * kMiB + 1});
  EXPECT_EQ(tag(1).live_count, 2u);
  ASSERT_EQ(free(small), Result::ok);
  EXPECT_EQ(statistics().allocated_bytes.small_pool.current, 0);
  EXPECT_EQ(statistics().active_bytes.small_pool.current, 0);
  EXPECT_EQ(statistics().reserved_bytes.small_pool.current, std::int64_t{kMiB});
  EXPECT_EQ(statistics().inactive_split.all.current, 0);
  EXPECT_EQ(statistics().num_device_free, 0);
}

TEST_F(DedicatedMemory, IsReusedForTheSameBytesInTheSamePlaceOnly) {
  const Address first = dedicated(3000);
  const Address second = dedicated(3000);
  ASSERT_EQ(free(first), Result::ok);
  ASSERT_EQ(free(second), Result::ok);

  EXPECT_EQ(allocate_whole(2999).source, Source::new_segment);
  EXPECT_EQ(allocate_whole(3001).source, Source::new_segment);
  EXPECT_EQ(allocate_whole(3000, kOtherContext).source, Source::new_segment);
  EXPECT_EQ(allocate(3000).source, Source::new_segment);
  EXPECT_EQ(allocate_whole(3000).address, first);
  EXPECT_EQ(dedicated(3000), second);
}

TEST_F(DedicatedMemory, AFreeBlockOfAPoolDoesNotServeIt) {
  ASSERT_EQ(free(address_of(20 * kMiB)), Result::ok);

  EXPECT_EQ(allocate_whole(20 * kMiB).source, Source::new_segment);
}

TEST_F(DedicatedMemory, WrongAddressesAreRefused) {
  const Address address = dedicated(5000);

  EXPECT_EQ(free(address + 512), Result::invalid);
  EXPECT_TRUE(allocator_.find(address + 4999).owned);
  EXPECT_FALSE(allocator_.find(address + 5000).owned);
  EXPECT_FALSE(allocator_.find(address + 5000).owned);
  EXPECT_EQ(allocator_.find(address + 4999).block.address, address);
  ASSERT_EQ(free(address), Result::ok);
  EXPECT_EQ(free(address), Result::invalid);
  EXPECT_TRUE(allocator_.find(address).owned);
  EXPECT_FALSE(allocator_.find(address).live);
}

TEST_F(DedicatedMemory, IsNotReusedBeforeTheDeviceHasFinished) {
  const Address address = dedicated(4096);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(allocate_whole(4096).source, Source::new_segment);
  EXPECT_EQ(segment_at(address).active_size, 4096u);
  EXPECT_EQ(segment_at(address).allocated_size, 0u);
  backend_.set_may_wait(true);
  EXPECT_EQ(dedicated(4096), address);
}

TEST_F(DedicatedMemory, AFaultOfTheDeviceFreesNothing) {
  const Address address = dedicated(4096);
  backend_.fail_wait(700);

  const Outcome out = allocator_.free(address);

  EXPECT_EQ(out.status, (Status{Result::failed, 700}));
  EXPECT_TRUE(allocator_.find(address).live);
}

// The simulated backend begins each segment at a multiple of 2 MiB.
TEST_F(DedicatedMemory, CountsAsFreeInWholeGranules) {
  const Address small = dedicated(4096);
  const Address large = dedicated(3 * kMiB);
  EXPECT_EQ(allocator_.recoverable_bytes(0), 0u);

  ASSERT_EQ(free(large), Result::ok);
  EXPECT_EQ(allocator_.recoverable_bytes(0), 4 * kMiB);

  ASSERT_EQ(free(small), Result::ok);
  EXPECT_EQ(allocator_.recoverable_bytes(0), 6 * kMiB);
}

TEST_F(DedicatedMemory, IsGivenBackByTrimAndCountsAsFreeBefore) {
  const Address kept = dedicated(kMiB);
  ASSERT_EQ(free(dedicated(10 * kMiB)), Result::ok);
  EXPECT_EQ(allocator_.idle_bytes(0), 10 * kMiB);

  allocator_.trim();

  EXPECT_EQ(allocator_.idle_bytes(0), 0u);
  EXPECT_EQ(statistics().reserved_bytes.all.current, std::int64_t{kMiB});
  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_TRUE(allocator_.find(kept).live);
}

TEST_F(DedicatedMemory, MakesRoomForOthersWhenMemoryIsShort) {
  ASSERT_EQ(free(dedicated(40 * kMiB)), Result::ok);

  const Outcome ordinary = allocate(40 * kMiB);

  EXPECT_EQ(ordinary.source, Source::after_trim);
  ASSERT_EQ(free(ordinary.address), Result::ok);
  EXPECT_EQ(allocate_whole(50 * kMiB).source, Source::after_trim);
  EXPECT_EQ(statistics().num_alloc_retries, 2);
  const Outcome refused = allocate_whole(20 * kMiB);
  EXPECT_EQ(refused.status.result, Result::out_of_memory);
  EXPECT_EQ(refused.source, Source::none);
  EXPECT_EQ(statistics().num_ooms, 1);
}

TEST_F(DedicatedMemory, CountsTowardsTheMemoryLimit) {
  allocator_.set_limits({.memory_fraction = 0.5, .exact_fallback = false});
  dedicated(20 * kMiB);

  EXPECT_EQ(allocate_whole(13 * kMiB).status.result, Result::out_of_memory);
  EXPECT_EQ(allocate_whole(12 * kMiB).status.result, Result::ok);
}

TEST_F(DedicatedMemory, GoesWithItsContext) {
  const Address live = dedicated(4096);
  ASSERT_EQ(free(dedicated(8192)), Result::ok);

  allocator_.forget_place(kDevice0);

  EXPECT_FALSE(allocator_.find(live).owned);
  EXPECT_EQ(allocator_.idle_bytes(0), 0u);
  EXPECT_EQ(statistics().reserved_bytes.all.current, 0);
  EXPECT_EQ(statistics().num_device_free, 0);
}

TEST_F(DedicatedMemory, AnExportedSegmentGoesBackWhenItIsFreed) {
  const Address address = dedicated(4096);
  ASSERT_TRUE(allocator_.note_export(address + 100).exported);
  EXPECT_TRUE(segment_at(address).is_exported);

  ASSERT_EQ(free(address), Result::ok);

  EXPECT_FALSE(device_.find(address));
  EXPECT_FALSE(allocator_.find(address).owned);
  EXPECT_EQ(statistics().num_device_free, 1);
  EXPECT_EQ(allocate_whole(4096).source, Source::new_segment);
}

TEST_F(DedicatedMemory, AnExportedSegmentGoesBackOnlyWhenTheDeviceHasFinished) {
  const Address address = dedicated(4096);
  ASSERT_TRUE(allocator_.note_export(address).exported);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);
  EXPECT_TRUE(device_.find(address));

  backend_.set_may_wait(true);
  allocator_.trim();

  EXPECT_FALSE(device_.find(address));
}

TEST_F(DedicatedMemory, ABlockThatIsItsWholeSegmentCanBeExported) {
  const Outcome out = allocate(30 * kMiB, 7);
  EXPECT_TRUE(allocator_.find(out.address).dedicated);

  ASSERT_TRUE(allocator_.note_export(out.address + kMiB).exported);

  EXPECT_TRUE(segment_at(out.address).is_dedicated);
  EXPECT_EQ(segment_at(out.address).requested_size, 30 * kMiB);
  EXPECT_EQ(tag(7).live_bytes, 30 * kMiB);
  EXPECT_EQ(allocator_.check_invariants(), "");
  ASSERT_EQ(free(out.address), Result::ok);
  EXPECT_FALSE(device_.find(out.address));
  EXPECT_EQ(tag(7).live_bytes, 0u);
}

TEST_F(DedicatedMemory, APartOfASegmentCannotBeExported) {
  const Address small = address_of(kMiB);
  const Address large = address_of(5 * kMiB);

  EXPECT_FALSE(allocator_.find(small).dedicated);
  EXPECT_FALSE(allocator_.note_export(small).exported);
  EXPECT_FALSE(allocator_.note_export(large).exported);
  ASSERT_EQ(free(large), Result::ok);
  EXPECT_EQ(allocate(5 * kMiB).source, Source::hit);
}

TEST_F(DedicatedMemory, WhatIsNotLiveCannotBeExported) {
  const Address address = dedicated(4096);
  const Address large = address_of(12 * kMiB);
  ASSERT_EQ(free(address), Result::ok);
  ASSERT_EQ(free(large), Result::ok);

  EXPECT_FALSE(allocator_.note_export(address).exported);
  EXPECT_FALSE(allocator_.note_export(large).exported);
  EXPECT_FALSE(allocator_.note_export(0x1000).owned);
  EXPECT_EQ(allocate_whole(4096).source, Source::hit);
  EXPECT_EQ(allocate(12 * kMiB).source, Source::hit);
}

// The block is looked for, then the device is waited for; meanwhile another thread exports it.
TEST_F(DedicatedMemory, AnExportWhileItIsFreedDoesNotLoseIt) {
  address_of(512, 0, kOtherContext);  // with one place only, frees take a shorter way
  const Address address = address_of(30 * kMiB);
  bool exported = false;
  backend_.on_wait([&](Place) {
    if (!exported) exported = allocator_.note_export(address).exported;
  });

  EXPECT_EQ(free(address), Result::ok);

  EXPECT_TRUE(exported);
  EXPECT_FALSE(device_.find(address));
}

}  // namespace
}  // namespace vramscope::test
