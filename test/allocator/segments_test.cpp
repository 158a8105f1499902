// The out-of-memory ladder, trims and limits.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

class Ladder : public AllocatorFixture {
 protected:
  Ladder() : AllocatorFixture(100 * kMiB) {}

  // A cached segment of 20 MiB.
  void cache_a_segment() { ASSERT_EQ(free(address_of(3 * kMiB)), Result::ok); }
};

TEST_F(Ladder, ReturnsCachedSegmentsAndTriesOnceMore) {
  cache_a_segment();

  const Outcome out = allocate(90 * kMiB);

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(out.source, Source::after_trim);
  EXPECT_EQ(device_.counters().frees, 1u);
  EXPECT_EQ(statistics().num_alloc_retries, 1);
  EXPECT_EQ(statistics().num_sync_all_streams, 1);
  EXPECT_EQ(statistics().num_ooms, 0);
}

TEST_F(Ladder, AnswersTheBackendsOwnCodeAtLast) {
  cache_a_segment();

  const Outcome out = allocate(101 * kMiB);

  EXPECT_EQ(out.status, (Status{Result::out_of_memory, simulator::kOutOfMemory}));
  EXPECT_EQ(out.source, Source::none);
  EXPECT_EQ(statistics().num_ooms, 1);
}

TEST_F(Ladder, ARefusedFirstCallIsMadeGoodByTheSecond) {
  device_.fail_call(1);

  const Outcome out = allocate(512);

  EXPECT_EQ(out.source, Source::after_trim);
  EXPECT_EQ(device_.counters().calls, 2u);
}

TEST_F(Ladder, ARefusedSecondCallMattersToTheNextSegmentOnly) {
  device_.fail_call(2);

  EXPECT_EQ(allocate(512).source, Source::new_segment);
  EXPECT_EQ(allocate(512).source, Source::hit);
  EXPECT_EQ(allocate(2 * kMiB).source, Source::after_trim);
}

TEST_F(Ladder, ARefusedThirdCallLeavesEarlierSegmentsAlone) {
  device_.fail_call(3);
  const Address small = address_of(512);
  const Address large = address_of(3 * kMiB);

  const Address own = address_of(18 * kMiB);

  EXPECT_TRUE(allocator_.find(small).live);
  EXPECT_TRUE(allocator_.find(large).live);
  EXPECT_TRUE(allocator_.find(own).live);
  EXPECT_EQ(statistics().num_alloc_retries, 1);
}

TEST_F(Ladder, AnyOtherErrorIsReturnedAtOnce) {
  cache_a_segment();
  device_.set_sticky(700);

  const Outcome out = allocate(50 * kMiB);

  EXPECT_EQ(out.status, (Status{Result::failed, 700}));
  EXPECT_EQ(device_.counters().frees, 0u);
  EXPECT_EQ(statistics().num_alloc_retries, 0);
  EXPECT_EQ(statistics().num_ooms, 0);
}

TEST_F(Ladder, ReturnsNothingWhileACaptureForbidsIt) {
  cache_a_segment();
  backend_.set_may_wait(false);

  const Outcome out = allocate(90 * kMiB);

  EXPECT_EQ(out.status.result, Result::out_of_memory);
  EXPECT_EQ(device_.counters().frees, 0u);
  EXPECT_EQ(statistics().num_alloc_retries, 0);
}

TEST_F(Ladder, ReturnsWhatOtherContextsOfTheDeviceCache) {
  ASSERT_EQ(free(address_of(3 * kMiB, 0, kOtherContext)), Result::ok);

  EXPECT_EQ(allocate(90 * kMiB).source, Source::after_trim);

  EXPECT_EQ(statistics().num_sync_all_streams, 1);
}

// Another thread may use the allocator while the backend takes its time.
TEST_F(Ladder, HoldsNoLockWhileTheBackendWorks) {
  cache_a_segment();
  int calls = 0;
  backend_.on_reserve([&](Place, std::size_t) { calls += !allocator_.find(1).owned; });
  backend_.on_release([&](Place, Address address) { calls += !allocator_.find(address).owned; });
  backend_.on_wait([&](Place) { calls += allocator_.idle_bytes(1) == 0; });

  ASSERT_EQ(free(address_of(90 * kMiB)), Result::ok);

  EXPECT_EQ(calls, 4);
}

TEST_F(Ladder, TrimmingManySegmentsReturnsEachOnce) {
  std::vector<Address> held;
  for (int i = 0; i < 49; ++i) held.push_back(address_of(kMiB));
  for (int i = 0; i < 49; ++i) held.push_back(address_of(kMiB));
  for (const Address address : held) ASSERT_EQ(free(address), Result::ok);

  allocator_.trim();

  EXPECT_EQ(device_.counters().live_count, 0u);
  EXPECT_EQ(statistics().num_device_free, 49);
  EXPECT_EQ(statistics().num_sync_all_streams, 1);
}

class ExactFallback : public AllocatorFixture {
 protected:
  ExactFallback() : AllocatorFixture(16 * kMiB, Limits{}) {}
};

TEST_F(ExactFallback, AsksForTheRequestAloneAtLast) {
  const Outcome out = allocate(3 * kMiB);

  EXPECT_EQ(out.source, Source::after_trim);
  EXPECT_EQ(allocator_.find(out.address).segment_bytes, 4 * kMiB);
  EXPECT_EQ(statistics().num_ooms, 0);
}

TEST_F(ExactFallback, IsNotTriedWhenItWouldAskForTheSame) {
  EXPECT_EQ(allocate(18 * kMiB).status.result, Result::out_of_memory);

  EXPECT_EQ(device_.counters().calls, 2u);
}

TEST_F(ExactFallback, CanBeSwitchedOff) {
  allocator_.set_limits({.exact_fallback = false});

  EXPECT_EQ(allocate(3 * kMiB).status.result, Result::out_of_memory);
}

class Fraction : public AllocatorFixture {
 protected:
  Fraction() : AllocatorFixture(100 * kMiB, {.memory_fraction = 0.5, .exact_fallback = false}) {}
};

TEST_F(Fraction, RefusesWithoutAskingTheBackend) {
  const Outcome out = allocate(52 * kMiB);

  EXPECT_EQ(out.status, (Status{Result::out_of_memory, 0}));
  EXPECT_EQ(device_.counters().calls, 0u);
  EXPECT_EQ(statistics().num_ooms, 1);
}

TEST_F(Fraction, MayBeUsedUpExactly) {
  EXPECT_TRUE(allocate(50 * kMiB).status.ok());
  EXPECT_FALSE(allocate(512).status.ok());
}

TEST_F(Fraction, CountsWhatOtherThreadsAreAskingFor) {
  Status meanwhile;
  bool first = true;
  backend_.on_reserve([&](Place, std::size_t) {
    if (first) {
      first = false;
      meanwhile = allocate(30 * kMiB).status;
    }
  });

  const Outcome out = allocate(30 * kMiB);

  EXPECT_TRUE(out.status.ok());
  EXPECT_EQ(meanwhile.result, Result::out_of_memory);
}

}  // namespace
}  // namespace vramscope::test
