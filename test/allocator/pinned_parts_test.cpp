// Pinned memory under the native-safe policy: blocks of whole pages cut from segments, proof before
// they merge into anything that goes out, and what may lie idle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace pinned_parts_test {

constexpr Place kPinned{.kind = Kind::pinned, .context = 1};
constexpr Place kOtherFlags{.kind = Kind::pinned, .context = 2};
constexpr std::uint64_t kPage = kHostPage;

class PinnedParts : public AllocatorFixture {
 protected:
  // A host so large that segments may be cut, unless a test says otherwise.
  explicit PinnedParts(std::uint64_t capacity = 64 * 1024 * kMiB,
                       Limits limits = {.policy = Policy::native_safe})
      : AllocatorFixture(capacity, limits) {}

  Outcome pin(std::size_t bytes, Place where = kPinned) { return allocate(bytes, 0, where); }
  std::vector<Address> pin_each(int count, std::size_t bytes) {
    std::vector<Address> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(pin(bytes).address);
    return blocks;
  }
  HostStatistics host() const { return allocator_.snapshot().host; }
};

TEST_F(PinnedParts, AreWholePages) {
  EXPECT_EQ(pin(1).rounded, kPage);
  EXPECT_EQ(pin(kPage + 1).rounded, 2 * kPage);
  EXPECT_EQ(pin(3 * kMiB + 1).rounded, 3 * kMiB + kPage);
}

// As much again as there is, up to 2 MiB: a program with little pinned memory has little pinned.
TEST_F(PinnedParts, ShareSegmentsThatDouble) {
  std::vector<std::int64_t> reserved;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pin(1).status.ok());
    reserved.push_back(host().reserved_bytes.current / static_cast<std::int64_t>(kPage));
  }
  EXPECT_EQ(reserved, (std::vector<std::int64_t>{1, 2, 4, 4, 8}));

  pin_each(1500, 1);

  EXPECT_LE(host().reserved_bytes.current, 1505 * static_cast<std::int64_t>(kPage) + 2 * 1048576);
}

TEST_F(PinnedParts, ALargeOneHasASegmentOfItsOwnAndIsCutForTheNext) {
  const Address large = pin(9 * kMiB).address;
  EXPECT_EQ(host().reserved_bytes.current, 9 * 1048576);
  ASSERT_EQ(free(large), Result::ok);

  const Outcome first = pin(5 * kMiB);
  const Outcome second = pin(4 * kMiB);

  EXPECT_EQ(first.address, large);
  EXPECT_EQ(second.address, large + 5 * kMiB);
  EXPECT_EQ(second.source, Source::hit);
  ASSERT_EQ(free(first.address), Result::ok);
  ASSERT_EQ(free(second.address), Result::ok);
  EXPECT_EQ(pin(9 * kMiB).address, large);
  EXPECT_EQ(host().num_host_alloc, 1);
}

TEST_F(PinnedParts, IsReusedForTheSameFlagsAndContextOnly) {
  ASSERT_EQ(free(pin(kPage).address), Result::ok);

  EXPECT_EQ(pin(kPage, kOtherFlags).source, Source::new_segment);
  EXPECT_EQ(pin(kPage).source, Source::hit);
}

TEST_F(PinnedParts, WrongAddressesAreRefused) {
  ASSERT_EQ(free(pin(8 * kMiB).address), Result::ok);
  const Address lower = pin(3 * kMiB).address;
  const Address upper = pin(3 * kMiB).address;

  EXPECT_EQ(free(lower + kPage), Result::invalid);
  EXPECT_EQ(free(upper + 3 * kMiB), Result::invalid);
  const Found found = allocator_.find(upper + kPage);
  EXPECT_EQ(found.block.address, upper);
  EXPECT_EQ(found.block.requested_size, 3 * kMiB);
  EXPECT_FALSE(found.dedicated);
  EXPECT_FALSE(allocator_.find(upper + 3 * kMiB).live);
  ASSERT_EQ(free(upper), Result::ok);
  EXPECT_EQ(free(upper), Result::invalid);
  EXPECT_EQ(allocator_.free(lower, CachingAllocator::Wait::now, CachingAllocator::Only::device)
                .status.result,
            Result::invalid);
  EXPECT_TRUE(allocator_.find(lower).live);
}

TEST_F(PinnedParts, CountsWhatTheProgramHoldsAndWhatIsPinned) {
  const Address address = pin(3 * kMiB - 5).address;
  ASSERT_EQ(free(address), Result::ok);
  pin(2 * kMiB);

  const HostStatistics stats = host();

  EXPECT_EQ(stats.allocated.current, 1);
  EXPECT_EQ(stats.allocated_bytes.current, 2 * 1048576);
  EXPECT_EQ(stats.allocated_bytes.peak, 3 * 1048576);
  EXPECT_EQ(stats.active_requests.freed, 1);
  EXPECT_EQ(stats.segment.current, 1);
  EXPECT_EQ(stats.reserved_bytes.current, 3 * 1048576);
}

// What is pinned stays within the most that was held at once, and a sixteenth of that.
TEST_F(PinnedParts, WhatWasIdleForLongestGoesBackForANewSegment) {
  const std::vector<Address> blocks = pin_each(4, 16 * kMiB);
  ASSERT_EQ(free(blocks[2]), Result::ok);
  const Address other = pin(2 * kMiB, kOtherFlags).address;
  ASSERT_EQ(free(blocks[1]), Result::ok);

  const Outcome larger = pin(17 * kMiB);

  EXPECT_TRUE(larger.status.ok());
  EXPECT_FALSE(allocator_.find(blocks[2]).owned);
  EXPECT_TRUE(allocator_.find(blocks[1]).owned);
  EXPECT_TRUE(allocator_.find(other).live);
  EXPECT_EQ(host().num_host_free, 1);
}

TEST_F(PinnedParts, ABlockFreedDuringACaptureStaysApartUntilItsEnd) {
  ASSERT_EQ(free(pin(8 * kMiB).address), Result::ok);
  const Address lower = pin(4 * kMiB).address;
  const Address upper = pin(4 * kMiB).address;
  backend_.set_may_wait(false);
  ASSERT_EQ(free(lower), Result::ok);
  ASSERT_EQ(free(upper), Result::ok);

  EXPECT_EQ(host().allocated.current, 0);
  EXPECT_EQ(host().active_requests.current, 2);
  EXPECT_EQ(pin(8 * kMiB).source, Source::new_segment);
  backend_.set_may_wait(true);
  EXPECT_EQ(pin(8 * kMiB).address, lower);
}

TEST_F(PinnedParts, AWaitThatFailsFreesNothing) {
  const Address address = pin(kPage).address;
  device_.set_sticky(700);

  EXPECT_EQ(allocator_.free(address).status, (Status{Result::failed, 700}));

  device_.set_sticky(0);
  EXPECT_EQ(free(address), Result::ok);
}

TEST_F(PinnedParts, BlocksThatAGraphMayNameAreKeptApart) {
  const Address address = pin(4 * kMiB).address;
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_NE(pin(4 * kMiB).address, address);
  allocator_.let_go();
  EXPECT_EQ(pin(4 * kMiB).address, address);
}

TEST_F(PinnedParts, ALostContextTakesItsBlocksWithoutACall) {
  ASSERT_EQ(free(pin(8 * kMiB).address), Result::ok);
  const Address live = pin(3 * kMiB).address;
  const Address other = pin(100, kOtherFlags).address;

  allocator_.forget_place(kPinned);

  EXPECT_EQ(device_.counters().frees, 0u);
  EXPECT_EQ(host().num_host_free, 0);
  EXPECT_FALSE(allocator_.find(live).owned);
  EXPECT_TRUE(allocator_.find(other).live);
  EXPECT_EQ(free(other), Result::ok);
}

TEST_F(PinnedParts, EveryPlaceGivesBackWhatIsIdleWhenAnotherDoorIsRefused) {
  ASSERT_EQ(free(pin(4 * kMiB).address), Result::ok);
  ASSERT_EQ(free(pin(100, kOtherFlags).address), Result::ok);
  const Address live = pin(100, kOtherFlags).address;

  EXPECT_TRUE(allocator_.trim_pinned());

  EXPECT_EQ(host().segment.current, 1);
  EXPECT_TRUE(allocator_.find(live).live);
  EXPECT_FALSE(allocator_.trim_pinned());
}

// The program that fails where holes are pinned by small neighbours: 45 segments, all cut.
class LittleHost : public PinnedParts {
 protected:
  LittleHost() : PinnedParts(1024 * kMiB) {}
};

TEST_F(LittleHost, HolesNeverTakeWhatAProgramWouldBeServed) {
  for (const Address each : pin_each(45, 20 * kMiB)) ASSERT_EQ(free(each), Result::ok);
  std::vector<Address> large;
  for (int i = 0; i < 45; ++i) {
    large.push_back(pin(17 * kMiB).address);
    ASSERT_TRUE(pin(2 * kMiB).status.ok());
  }
  for (const Address each : large) ASSERT_EQ(free(each), Result::ok);

  EXPECT_TRUE(pin(600 * kMiB).status.ok());
}

// Where none may be cut any more, one that is hardly larger serves whole.
TEST_F(LittleHost, AnIdleSegmentServesWhatIsHardlySmaller) {
  const std::vector<Address> blocks = pin_each(16, 20 * kMiB);
  ASSERT_EQ(free(blocks[0]), Result::ok);

  EXPECT_EQ(pin(18 * kMiB).source, Source::new_segment);
  const Outcome close = pin(19 * kMiB);

  EXPECT_EQ(close.source, Source::hit);
  EXPECT_EQ(close.rounded, 20 * kMiB);
}

TEST_F(LittleHost, EverythingIdleGoesBackBeforeARefusal) {
  const std::vector<Address> blocks = pin_each(10, 64 * kMiB);
  pin(100, kOtherFlags);
  ASSERT_EQ(free(pin(200 * kMiB, kOtherFlags).address), Result::ok);
  for (const Address each : blocks) ASSERT_EQ(free(each), Result::ok);

  const Outcome out = pin(1000 * kMiB);

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(pin(64 * kMiB).status.code, simulator::kOutOfMemory);
}

class CutAtReuse : public PinnedParts {
 protected:
  CutAtReuse()
      : PinnedParts(64 * 1024 * kMiB,
                    {.policy = Policy::native_safe, .reuse = ReuseTime::at_reuse}) {}
};

// A merged block is as young as the youngest of its parts.
TEST_F(CutAtReuse, AMergedBlockIsWaitedForUnlessAWaitCoversAllOfIt) {
  ASSERT_EQ(free(pin(8 * kMiB).address), Result::ok);
  const Address lower = pin(4 * kMiB).address;
  const Address upper = pin(4 * kMiB).address;
  ASSERT_EQ(free(lower), Result::ok);
  allocator_.end_wait(kPinned, allocator_.begin_wait(kPinned));
  const std::uint64_t waits = backend_.waits();

  ASSERT_EQ(free(upper), Result::ok);
  EXPECT_EQ(backend_.waits(), waits);
  EXPECT_EQ(pin(8 * kMiB).address, lower);

  EXPECT_EQ(backend_.waits(), waits + 1);
}

class CutThresholds : public PinnedParts {
 protected:
  CutThresholds()
      : PinnedParts(64 * 1024 * kMiB,
                    {.policy = Policy::native_safe, .pinned_max_cached_size = 8 * kMiB}) {}
};

TEST_F(CutThresholds, SegmentsAboveTheCapAreNotKept) {
  const Address kept = pin(8 * kMiB).address;
  const Address large = pin(9 * kMiB).address;
  ASSERT_EQ(free(kept), Result::ok);
  ASSERT_EQ(free(large), Result::ok);

  EXPECT_EQ(host().segment.current, 1);
  EXPECT_EQ(host().num_host_free, 1);
}

}  // namespace pinned_parts_test
}  // namespace vramscope::test
