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

// Free memory lacked them until the next allocation.
TEST_P(HeldBlocks, AreIdleOnceTheyAreLetGoAndSettled) {
  const Address address = address_of(2 * kMiB);
  const std::uint64_t before = allocator_.recoverable_bytes(0);
  allocator_.hold_blocks();
  ASSERT_EQ(free(address), Result::ok);

  allocator_.settle(0);
  EXPECT_EQ(allocator_.recoverable_bytes(0), before);
  allocator_.let_go();
  allocator_.settle(0);

  EXPECT_GT(allocator_.recoverable_bytes(0), before);
}

TEST_P(HeldBlocks, StayPendingWhileACaptureForbidsToWait) {
  const Address address = address_of(512);
  backend_.set_may_wait(false);
  ASSERT_EQ(free(address), Result::ok);

  allocator_.settle(0);
  EXPECT_EQ(allocator_.recoverable_bytes(0), 0u);
  backend_.set_may_wait(true);
  allocator_.settle(0);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 2 * kMiB);
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

INSTANTIATE_TEST_SUITE_P(Reuse, HeldBlocks,
                         testing::Values(ReuseTime::at_free, ReuseTime::at_reuse),
                         [](const auto& info) {
                           return info.param == ReuseTime::at_free ? "at_free" : "at_reuse";
                         });

}  // namespace
}  // namespace vramscope::test
