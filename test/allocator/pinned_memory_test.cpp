// Pinned host memory: buckets, exact places, completion before reuse, thresholds, giving back.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace pinned_memory_test {

constexpr Place kPinned{.kind = Kind::pinned, .context = 1};
constexpr Place kOtherFlags{.kind = Kind::pinned, .context = 2};

class PinnedMemory : public AllocatorFixture {
 protected:
  explicit PinnedMemory(Limits limits = {.exact_fallback = false})
      : AllocatorFixture(64 * kMiB, limits) {}

  Outcome pin(std::size_t bytes, Place where = kPinned) { return allocate(bytes, 0, where); }
  HostStatistics host() const { return allocator_.snapshot().host; }
};

TEST_F(PinnedMemory, ComesInPowersOfTwo) {
  EXPECT_EQ(pin(1).rounded, 1u);
  EXPECT_EQ(pin(40960).rounded, 65536u);
  EXPECT_EQ(pin(81920).rounded, 131072u);
  EXPECT_EQ(host().reserved_bytes.current, 1 + 65536 + 131072);
  EXPECT_EQ(host().num_host_alloc, 3);
}

TEST_F(PinnedMemory, TheBlockFreedLastIsHandedOutFirst) {
  const Address first = pin(4096).address;
  const Address second = pin(4000).address;
  ASSERT_EQ(free(first), Result::ok);
  ASSERT_EQ(free(second), Result::ok);

  const Outcome hit = pin(3000);

  EXPECT_EQ(hit.source, Source::hit);
  EXPECT_EQ(hit.address, second);
  EXPECT_EQ(pin(4096).address, first);
  EXPECT_EQ(pin(2048).source, Source::new_segment);
}

TEST_F(PinnedMemory, IsReusedForTheSameFlagsAndContextOnly) {
  ASSERT_EQ(free(pin(4096).address), Result::ok);

  EXPECT_EQ(pin(4096, kOtherFlags).source, Source::new_segment);
  EXPECT_EQ(pin(4096).source, Source::hit);
}

TEST_F(PinnedMemory, CountsWhatTheProgramHoldsAndWhatIsPinned) {
  const Address address = pin(3000).address;
  ASSERT_EQ(free(address), Result::ok);

  const HostStatistics stats = host();

  EXPECT_EQ(stats.allocated.current, 0);
  EXPECT_EQ(stats.allocated_bytes.peak, 4096);
  EXPECT_EQ(stats.active_requests.freed, 1);
  EXPECT_EQ(stats.active_bytes.current, 0);
  EXPECT_EQ(stats.segment.current, 1);
  EXPECT_EQ(stats.reserved_bytes.current, 4096);
  EXPECT_EQ(stats.num_host_free, 0);
}

TEST_F(PinnedMemory, WrongAddressesAreRefused) {
  const Address address = pin(4096).address;

  EXPECT_EQ(free(address + 512), Result::invalid);
  EXPECT_TRUE(allocator_.find(address + 4095).owned);
  EXPECT_FALSE(allocator_.find(address + 4096).owned);
  ASSERT_EQ(free(address), Result::ok);
  EXPECT_EQ(free(address), Result::invalid);
  EXPECT_TRUE(allocator_.find(address).owned);
  EXPECT_FALSE(allocator_.find(address).live);
}

TEST_F(PinnedMemory, ABlockFreedDuringACaptureWaitsForItsEnd) {
  const Address address = pin(4096).address;
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(host().allocated.current, 0);
  EXPECT_EQ(host().active_requests.current, 1);
  EXPECT_EQ(pin(4096).source, Source::new_segment);
  backend_.set_may_wait(true);
  EXPECT_EQ(pin(4096).address, address);
}

TEST_F(PinnedMemory, AWaitThatFailsFreesNothing) {
  const Address address = pin(4096).address;
  device_.set_sticky(700);

  EXPECT_EQ(allocator_.free(address).status, (Status{Result::failed, 700}));

  device_.set_sticky(0);
  EXPECT_EQ(free(address), Result::ok);
}

TEST_F(PinnedMemory, IsGivenBackByItsOwnTrimOnly) {
  const Address live = pin(4096).address;
  ASSERT_EQ(free(pin(4096).address), Result::ok);
  ASSERT_EQ(free(pin(100, kOtherFlags).address), Result::ok);

  allocator_.trim();
  EXPECT_EQ(device_.counters().frees, 0u);
  allocator_.trim_pinned(kPinned);
  EXPECT_EQ(device_.counters().frees, 1u);
  allocator_.trim_pinned(kOtherFlags);

  EXPECT_EQ(device_.counters().frees, 2u);
  EXPECT_EQ(host().num_host_free, 2);
  EXPECT_EQ(host().segment.current, 1);
  EXPECT_TRUE(allocator_.find(live).live);
}

TEST_F(PinnedMemory, ALostContextTakesItsBlocksWithoutACall) {
  ASSERT_EQ(free(pin(4096).address), Result::ok);
  const Address live = pin(100).address;
  const Address other = pin(100, kOtherFlags).address;

  allocator_.forget_place(kPinned);

  EXPECT_EQ(device_.counters().frees, 0u);
  EXPECT_EQ(host().num_host_free, 0);
  EXPECT_EQ(host().segment.current, 1);
  EXPECT_FALSE(allocator_.find(live).owned);
  EXPECT_TRUE(allocator_.find(other).owned);
}

TEST_F(PinnedMemory, WithoutTheFallbackTheBackendIsAskedOnce) {
  ASSERT_EQ(free(pin(32 * kMiB).address), Result::ok);

  EXPECT_EQ(pin(33 * kMiB).status.code, simulator::kOutOfMemory);

  EXPECT_EQ(device_.counters().calls, 2u);
  EXPECT_EQ(device_.counters().frees, 0u);
}

class PinnedFallback : public PinnedMemory {
 protected:
  PinnedFallback() : PinnedMemory(Limits{}) {}
};

TEST_F(PinnedFallback, GivesIdleBlocksBackAndThenAsksForExactlyTheRequest) {
  ASSERT_EQ(free(pin(16 * kMiB).address), Result::ok);

  EXPECT_EQ(pin(50 * kMiB).rounded, 64 * kMiB);
  EXPECT_EQ(host().num_host_free, 1);
  allocator_.forget_place(kPinned);
}

TEST_F(PinnedFallback, AsksForExactlyTheRequestAtLast) {
  const Address held = pin(8 * kMiB).address;

  const Outcome out = pin(50 * kMiB);

  EXPECT_EQ(out.rounded, 50 * kMiB);
  ASSERT_EQ(free(out.address), Result::ok);
  EXPECT_EQ(pin(57 * kMiB).status.result, Result::out_of_memory);
  EXPECT_EQ(free(held), Result::ok);
}

class PinnedThresholds : public PinnedMemory {
 protected:
  PinnedThresholds()
      : PinnedMemory({.exact_fallback = false,
                      .pinned_max_round_threshold = 4 * kMiB,
                      .pinned_max_cached_size = 8 * kMiB}) {}
};

TEST_F(PinnedThresholds, LargeRequestsAreNotRounded) {
  EXPECT_EQ(pin(3 * kMiB).rounded, 4 * kMiB);
  EXPECT_EQ(pin(5 * kMiB).rounded, 5 * kMiB);
}

// A bucket then holds several sizes.
TEST_F(PinnedThresholds, ABlockThatIsTooSmallIsPassedOver) {
  const Address large = pin(7 * kMiB).address;
  const Address small = pin(5 * kMiB).address;
  ASSERT_EQ(free(large), Result::ok);
  ASSERT_EQ(free(small), Result::ok);

  EXPECT_EQ(pin(6 * kMiB).address, large);
  EXPECT_EQ(pin(5 * kMiB).address, small);
}

TEST_F(PinnedThresholds, BlocksAboveTheCapAreNotKept) {
  ASSERT_EQ(free(pin(9 * kMiB).address), Result::ok);

  EXPECT_EQ(device_.counters().frees, 1u);
  EXPECT_EQ(host().segment.current, 0);
  EXPECT_EQ(host().num_host_free, 1);
}

}  // namespace pinned_memory_test
}  // namespace vramscope::test
