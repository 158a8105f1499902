// Blocks that graphs may name: out of use, but handed to nobody.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

constexpr Place kPinned{.kind = Kind::pinned, .context = 1};

class HeldBlocks : public AllocatorFixture, public testing::WithParamInterface<ReuseTime> {
 protected:
  HeldBlocks() : AllocatorFixture(64 * kMiB, {.exact_fallback = false, .reuse = GetParam()}) {}
};

TEST_P(HeldBlocks, StayPendingAfterTheirFreeUntilTheyAreLetGo) {
  const Address address = address_of(512);
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(statistics().allocation.all.current, 0);
  EXPECT_EQ(statistics().active.all.current, 1);
  EXPECT_NE(address_of(512), address);
  allocator_.let_go();

  EXPECT_EQ(address_of(512), address);
}

TEST_P(HeldBlocks, AreThoseThatWereLiveBefore) {
  allocator_.hold_blocks();
  const Address address = address_of(512);
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(address_of(512), address);
}

TEST_P(HeldBlocks, DoNotKeepOthersFromBeingReused) {
  const Address held = address_of(512);
  allocator_.hold_blocks();
  const Address other = address_of(512);
  ASSERT_EQ(free(held), Result::ok);
  ASSERT_EQ(free(other), Result::ok);

  EXPECT_EQ(address_of(512), other);
}

TEST_P(HeldBlocks, KeepWhatWasFreedDuringACapture) {
  const Address address = address_of(512);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);
  allocator_.hold_blocks();
  backend_.set_may_wait(true);

  EXPECT_NE(address_of(512), address);
  allocator_.let_go();
  EXPECT_EQ(address_of(512), address);
}

// Free memory lacked them until the next allocation; then asking for it waited for the device.
TEST_P(HeldBlocks, CountAsIdleOnceTheyAreLetGoAndNothingIsWaitedFor) {
  const Address address = address_of(2 * kMiB);
  const std::uint64_t before = allocator_.recoverable_bytes(0);
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);
  const std::uint64_t waits = backend_.waits();

  EXPECT_EQ(allocator_.recoverable_bytes(0), before);
  allocator_.let_go();

  EXPECT_EQ(allocator_.recoverable_bytes(0), before + 20 * kMiB);
  EXPECT_EQ(backend_.waits(), waits);
}

TEST_P(HeldBlocks, StayPendingWhileACaptureForbidsToWait) {
  const Address address = address_of(512);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 0u);
  backend_.set_may_wait(true);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 2 * kMiB);
}

// Each once, with the free blocks between them, and only where nothing else lives.
TEST_P(HeldBlocks, CountBySegmentsThatNothingElseLivesIn) {
  const Address first = address_of(512);
  const Address between = address_of(512);
  const Address second = address_of(512);
  const Address living = address_of(512);
  ASSERT_EQ(free(between), Result::ok);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(second), Result::ok);
  ASSERT_EQ(free(first), Result::ok);
  backend_.set_may_wait(true);
  EXPECT_EQ(allocator_.recoverable_bytes(0), 0u);

  backend_.set_may_wait(false);
  ASSERT_EQ(free(living), Result::ok);
  backend_.set_may_wait(true);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 2 * kMiB);
}

TEST_P(HeldBlocks, CountByGranulesWhereTheyAreDedicated) {
  const Outcome block =
      allocator_.allocate({.where = kDevice0, .bytes = 5 * kMiB, .dedicated = true});
  ASSERT_TRUE(block.status.ok());
  backend_.set_may_wait(false);
  ASSERT_EQ(free(block.address), Result::ok);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 0u);
  backend_.set_may_wait(true);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 6 * kMiB);
}

TEST_P(HeldBlocks, AreRefusedASecondFree) {
  const Address address = address_of(512);
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_EQ(free(address), Result::invalid);
}

TEST_P(HeldBlocks, GoBackWhenNothingElseIsLeft) {
  const Address address = address_of(40 * kMiB);
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);

  EXPECT_TRUE(allocate(50 * kMiB).status.ok());
  EXPECT_EQ(statistics().num_ooms, 0);
}

TEST_P(HeldBlocks, ServeARequestWhenNothingElseIsLeft) {
  const Address first = address_of(32 * kMiB);
  const Address second = address_of(32 * kMiB);
  allocator_.hold_blocks();
  ASSERT_EQ(free(first), Result::ok);

  EXPECT_EQ(allocate(20 * kMiB).source, Source::after_trim);
  EXPECT_EQ(free(second), Result::ok);
}

// No segment becomes idle, so the request is served from a part of one.
TEST_P(HeldBlocks, AreHandedOutWhenNoSegmentCanGoBack) {
  const Address low = address_of(8 * kMiB);
  const Address high = address_of(8 * kMiB);
  static_cast<void>(address_of(44 * kMiB));
  allocator_.hold_blocks();
  ASSERT_EQ(free(low), Result::ok);

  EXPECT_EQ(address_of(7 * kMiB), low);
  EXPECT_EQ(statistics().num_ooms, 0);
  EXPECT_EQ(free(high), Result::ok);
}

TEST_P(HeldBlocks, GoWithTheirContext) {
  const Address address = address_of(512);
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);

  allocator_.forget_place(kDevice0);

  EXPECT_FALSE(allocator_.find(address).owned);
  EXPECT_EQ(statistics().active.all.current, 0);
}

TEST_P(HeldBlocks, MayBePinned) {
  const Address held = address_of(4096, 0, kPinned);
  allocator_.hold_blocks();
  const Address other = address_of(4096, 0, kPinned);
  ASSERT_EQ(free(held), Result::ok);
  ASSERT_EQ(free(other), Result::ok);

  EXPECT_EQ(address_of(4096, 0, kPinned), other);
  EXPECT_NE(address_of(4096, 0, kPinned), held);
  allocator_.let_go();
  EXPECT_EQ(address_of(4096, 0, kPinned), held);
}

class HeldPages : public AllocatorFixture {
 protected:
  HeldPages() : AllocatorFixture(256 * kMiB, {.expandable_segments = true}) {}
};

// A page between two pending blocks, and none that somebody lives in.
TEST_F(HeldPages, CountAsIdleWithTheFreeOnesAroundThem) {
  const Address first = address_of(30 * kMiB);
  const Address between = address_of(20 * kMiB);
  const Address second = address_of(30 * kMiB);
  static_cast<void>(address_of(15 * kMiB));
  ASSERT_EQ(free(between), Result::ok);
  const std::uint64_t before = allocator_.recoverable_bytes(0);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(second), Result::ok);
  ASSERT_EQ(free(first), Result::ok);
  EXPECT_EQ(allocator_.recoverable_bytes(0), before);
  backend_.set_may_wait(true);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 80 * kMiB);
  allocator_.trim();
  EXPECT_EQ(statistics().reserved_bytes.all.current, static_cast<std::int64_t>(20 * kMiB));
}

INSTANTIATE_TEST_SUITE_P(Reuse, HeldBlocks,
                         testing::Values(ReuseTime::at_free, ReuseTime::at_reuse),
                         [](const auto& info) {
                           return info.param == ReuseTime::at_free ? "at_free" : "at_reuse";
                         });

}  // namespace
}  // namespace vramscope::test
