// Waiting when a block goes out again instead of when it is freed: who waits, and what counts.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace reuse_test {

constexpr std::int32_t kSticky = 719;  // CUDA_ERROR_LAUNCH_FAILED
constexpr Place kPinned{.kind = Kind::pinned, .context = 1};
constexpr Place kOtherPinned{.kind = Kind::pinned, .context = 2};

class AtReuse : public AllocatorFixture {
 protected:
  AtReuse()
      : AllocatorFixture(64 * kMiB, {.exact_fallback = false, .reuse = ReuseTime::at_reuse}) {}

  // Everything that was freed up to now is finished, as the program's own wait shows.
  void wait(Place where = kDevice0) { allocator_.end_wait(where, allocator_.begin_wait(where)); }
};

TEST_F(AtReuse, AFreeReturnsAtOnce) {
  backend_.set_call_ns(7);
  const Address address = address_of(512);

  const Outcome freed = allocator_.free(address);

  EXPECT_TRUE(freed.status.ok());
  EXPECT_EQ(freed.wait_ns, 0u);
  EXPECT_EQ(backend_.waits(), 0u);
  EXPECT_EQ(statistics().active.all.current, 0);
}

TEST_F(AtReuse, TheNextLifeOfABlockWaits) {
  backend_.set_call_ns(7);
  const Address address = address_of(512);
  ASSERT_EQ(free(address), Result::ok);

  const Outcome again = allocate(512);

  EXPECT_EQ(again.address, address);
  EXPECT_EQ(again.source, Source::hit);
  EXPECT_EQ(again.wait_ns, 7u);
  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, WhatNothingEverUsedIsNotWaitedFor) {
  static_cast<void>(address_of(512));

  EXPECT_EQ(allocate(512).source, Source::hit);

  EXPECT_EQ(backend_.waits(), 0u);
}

TEST_F(AtReuse, OneWaitServesEverythingThatWasFreedBeforeIt) {
  const Address first = address_of(512);
  const Address second = address_of(4096);
  ASSERT_EQ(free(first), Result::ok);
  ASSERT_EQ(free(second), Result::ok);

  static_cast<void>(address_of(512));
  static_cast<void>(address_of(4096));

  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, AFreeAfterAWaitNeedsAnother) {
  const Address address = address_of(512);
  ASSERT_EQ(free(address), Result::ok);
  ASSERT_EQ(free(address_of(512)), Result::ok);

  static_cast<void>(address_of(512));

  EXPECT_EQ(backend_.waits(), 2u);
}

TEST_F(AtReuse, AFreeDuringAWaitIsNotCoveredByIt) {
  const Address first = address_of(512);
  const Address second = address_of(4096);
  ASSERT_EQ(free(first), Result::ok);
  backend_.on_wait([&](Place) {
    if (backend_.waits() == 0) {
      EXPECT_EQ(free(second), Result::ok);
    }
  });

  static_cast<void>(address_of(512));
  static_cast<void>(address_of(4096));

  EXPECT_EQ(backend_.waits(), 2u);
}

TEST_F(AtReuse, AMergedBlockIsAsYoungAsItsYoungestPart) {
  const Address low = address_of(512);
  const Address high = address_of(512);
  static_cast<void>(address_of(512));
  ASSERT_EQ(free(low), Result::ok);
  wait();
  ASSERT_EQ(free(high), Result::ok);

  EXPECT_EQ(address_of(512), low);

  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, TheRestOfABlockIsAsYoungAsTheBlock) {
  ASSERT_EQ(free(address_of(kMiB)), Result::ok);
  bool first = true;
  backend_.on_wait([&](Place) {  // somebody else, while the lower part is being waited for
    if (std::exchange(first, false)) static_cast<void>(address_of(512));
  });

  static_cast<void>(address_of(512));

  EXPECT_EQ(backend_.waits(), 2u);
}

TEST_F(AtReuse, AWaitOfTheProgramsOwnCounts) {
  ASSERT_EQ(free(address_of(512)), Result::ok);
  wait();

  static_cast<void>(address_of(512));

  EXPECT_EQ(backend_.waits(), 0u);
}

TEST_F(AtReuse, AWaitThatBeganBeforeTheFreeProvesNothing) {
  const Address address = address_of(512);
  const std::uint32_t number = allocator_.begin_wait(kDevice0);
  ASSERT_EQ(free(address), Result::ok);
  allocator_.end_wait(kDevice0, number);

  static_cast<void>(address_of(512));

  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, AWaitForAnotherPlaceProvesNothing) {
  static_cast<void>(address_of(512, 0, kOtherContext));
  ASSERT_EQ(free(address_of(512)), Result::ok);
  wait(kOtherContext);

  static_cast<void>(address_of(512));

  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, AWaitThatBeganInAnEarlierLifeOfAPlaceProvesNothing) {
  static_cast<void>(address_of(512));
  for (int i = 0; i < 5; ++i) wait();
  const std::uint32_t number = allocator_.begin_wait(kDevice0);
  allocator_.forget_place(kDevice0);
  ASSERT_EQ(free(address_of(512)), Result::ok);
  allocator_.end_wait(kDevice0, number);

  static_cast<void>(address_of(512));

  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, AWaitThatFailsPutsTheBlockBackAndKeepsItsCode) {
  const Address address = address_of(3 * kMiB);
  ASSERT_EQ(free(address), Result::ok);
  backend_.fail_wait(kSticky);

  const Outcome out = allocate(2 * kMiB, 1);

  EXPECT_EQ(out.status, (Status{Result::failed, kSticky}));
  EXPECT_EQ(out.address, 0u);
  EXPECT_FALSE(allocator_.find(address).live);
  EXPECT_EQ(allocator_.idle_bytes(0), kLargeSegment);
  EXPECT_EQ(statistics().active_bytes.all.current, 0);
  EXPECT_EQ(tag(1).live_bytes, 0u);
}

TEST_F(AtReuse, ABlockThatWasPutBackIsStillToBeWaitedFor) {
  const Address address = address_of(512);
  ASSERT_EQ(free(address), Result::ok);
  backend_.fail_wait(kSticky);
  ASSERT_EQ(allocate(512).status.code, kSticky);
  device_.set_sticky(0);

  EXPECT_EQ(address_of(512), address);

  EXPECT_EQ(backend_.waits(), 2u);
}

TEST_F(AtReuse, WhileNothingMayBeWaitedForTheBackendIsAskedInstead) {
  const Address address = address_of(kMiB + 512);
  ASSERT_EQ(free(address), Result::ok);
  backend_.set_may_wait(false);

  const Outcome out = allocate(kMiB + 512);

  EXPECT_EQ(out.source, Source::new_segment);
  EXPECT_NE(out.address, address);
  backend_.set_may_wait(true);
  EXPECT_EQ(address_of(kLargeSegment), address);
  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, AFreeDuringACaptureIsPendingUntilItsEnd) {
  const Address address = address_of(512);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(statistics().active.all.current, 1);
  EXPECT_NE(address_of(512), address);
  backend_.set_may_wait(true);

  EXPECT_EQ(address_of(512), address);
  EXPECT_EQ(backend_.waits(), 1u);
}

TEST_F(AtReuse, SegmentsGoBackWithoutAWait) {
  ASSERT_EQ(free(address_of(512)), Result::ok);

  allocator_.trim();

  EXPECT_EQ(backend_.waits(), 0u);
  EXPECT_EQ(device_.counters().live_count, 0u);
}

TEST_F(AtReuse, WrongFreesAreRefused) {
  const Address address = address_of(4096);

  EXPECT_EQ(free(address + 512), Result::invalid);
  EXPECT_EQ(free(address), Result::ok);
  EXPECT_EQ(free(address), Result::invalid);
}

TEST_F(AtReuse, EverySixtyFourthHitShowsAStickyError) {
  static_cast<void>(address_of(512));
  device_.set_sticky(kSticky);
  for (int i = 1; i < 64; ++i) ASSERT_TRUE(allocate(512).status.ok());

  const Outcome out = allocate(512);

  EXPECT_EQ(out.status, (Status{Result::failed, kSticky}));
  EXPECT_EQ(backend_.probes(), 1u);
  EXPECT_EQ(statistics().active.all.current, 64);
}

TEST_F(AtReuse, NothingIsProbedDuringACapture) {
  static_cast<void>(address_of(512));
  backend_.set_may_wait(false);

  for (int i = 0; i < 200; ++i) EXPECT_TRUE(allocate(512).status.ok());

  EXPECT_EQ(backend_.probes(), 0u);
}

TEST_F(AtReuse, AContextThatEndsDuringTheWaitTakesTheBlockAlong) {
  ASSERT_EQ(free(address_of(512)), Result::ok);
  backend_.on_wait([&](Place) { allocator_.forget_place(kDevice0); });

  const Outcome out = allocate(512);

  EXPECT_EQ(out.status, (Status{Result::failed, 0}));
  EXPECT_EQ(out.address, 0u);
}

TEST_F(AtReuse, PinnedMemoryIsWaitedForWhenItGoesOutAgain) {
  const Address address = address_of(4096, 0, kPinned);
  ASSERT_EQ(free(address), Result::ok);
  EXPECT_EQ(backend_.waits(), 0u);
  EXPECT_EQ(allocator_.snapshot().host.active_requests.current, 0);

  EXPECT_EQ(address_of(4096, 0, kPinned), address);

  EXPECT_EQ(backend_.waits(), 1u);
}

// Work in one context says nothing of another's.
TEST_F(AtReuse, AWaitForPinnedMemoryProvesNothingOfAnotherPlace) {
  ASSERT_EQ(free(address_of(4096, 0, kPinned)), Result::ok);
  ASSERT_EQ(free(address_of(4096, 0, kOtherPinned)), Result::ok);

  static_cast<void>(address_of(4096, 0, kPinned));
  EXPECT_EQ(backend_.waits(), 1u);
  static_cast<void>(address_of(4096, 0, kOtherPinned));

  EXPECT_EQ(backend_.waits(), 2u);
}

TEST_F(AtReuse, AWaitForPinnedMemoryThatFailsPutsTheBlockBack) {
  const Address address = address_of(4096, 0, kPinned);
  ASSERT_EQ(free(address), Result::ok);
  backend_.fail_wait(kSticky);

  EXPECT_EQ(allocate(4096, 1, kPinned).status, (Status{Result::failed, kSticky}));

  EXPECT_EQ(allocator_.snapshot().host.active_bytes.current, 0);
  device_.set_sticky(0);
  EXPECT_EQ(address_of(4096, 0, kPinned), address);
}

TEST_F(AtReuse, PinnedMemoryIsNotHandedOutWhileNothingMayBeWaitedFor) {
  const Address address = address_of(4096, 0, kPinned);
  ASSERT_EQ(free(address), Result::ok);
  backend_.set_may_wait(false);

  EXPECT_NE(address_of(4096, 0, kPinned), address);

  backend_.set_may_wait(true);
  EXPECT_EQ(address_of(4096, 0, kPinned), address);
}

TEST_F(AtReuse, NobodyElseGetsABlockWhileItIsWaitedFor) {
  const Address first = address_of(512);
  const Address second = address_of(512);
  ASSERT_EQ(free(first), Result::ok);
  ASSERT_EQ(free(second), Result::ok);
  std::atomic<int> arrived{0};
  backend_.on_wait([&](Place) {  // both threads are in their waits at once
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  Address one = 0;
  Address two = 0;

  std::thread other([&] { one = address_of(512); });
  two = address_of(512);
  other.join();

  EXPECT_NE(one, two);
  EXPECT_EQ(one + two, first + second);
}

}  // namespace reuse_test
}  // namespace vramscope::test
