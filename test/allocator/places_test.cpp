// Frees that must not wait: pending until a later call may.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

class PendingFree : public AllocatorFixture {
 protected:
  PendingFree() : address_(address_of(1000, 1)) {
    backend_.set_may_wait(false);
    EXPECT_EQ(free(address_), Result::ok);
  }

  std::int64_t pending() const {
    const DeviceStatistics now = statistics();
    return now.active.all.current - now.allocation.all.current;
  }

  Address address_;
};

TEST_F(PendingFree, DropsWhatIsAllocatedAndKeepsWhatIsActive) {
  const DeviceStatistics now = statistics();

  EXPECT_EQ(now.allocation.all.current, 0);
  EXPECT_EQ(now.allocated_bytes.all.current, 0);
  EXPECT_EQ(now.active.all.current, 1);
  EXPECT_EQ(now.active_bytes.all.current, 1024);
  EXPECT_EQ(now.requested_bytes.all.current, 1000);
  EXPECT_EQ(tag(1).live_bytes, 1000u);
}

TEST_F(PendingFree, ShowsInASnapshot) {
  const Snapshot snapshot = allocator_.snapshot();

  EXPECT_EQ(snapshot.blocks[0].state, BlockState::active_pending_free);
  EXPECT_EQ(snapshot.segments[0].allocated_size, 0u);
  EXPECT_EQ(snapshot.segments[0].active_size, 1024u);
}

TEST_F(PendingFree, IsNotLiveAndCannotBeFreedAgain) {
  EXPECT_FALSE(allocator_.find(address_).live);
  EXPECT_EQ(free(address_), Result::invalid);
}

TEST_F(PendingFree, IsNotHandedOut) {
  EXPECT_NE(address_of(1000), address_);
  EXPECT_EQ(pending(), 1);
}

TEST_F(PendingFree, IsCompletedByTheNextAllocationThatMayWait) {
  backend_.set_may_wait(true);

  EXPECT_EQ(address_of(1000), address_);

  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(tag(1).live_bytes, 0u);
}

TEST_F(PendingFree, IsCompletedByTheNextFreeThatMayWait) {
  const Address other = address_of(512);
  backend_.set_may_wait(true);

  EXPECT_EQ(free(other), Result::ok);

  EXPECT_EQ(pending(), 0);
}

TEST_F(PendingFree, IsCompletedByATrim) {
  backend_.set_may_wait(true);

  allocator_.trim();

  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(device_.counters().live_count, 0u);
}

TEST_F(PendingFree, StaysPendingWhenTheWaitFails) {
  backend_.set_may_wait(true);
  backend_.fail_wait(719);

  EXPECT_TRUE(allocate(512).status.ok());

  EXPECT_EQ(pending(), 1);
}

// What is freed while the wait runs was submitted after it began.
TEST_F(PendingFree, AWaitCompletesOnlyWhatWasFreedBeforeIt) {
  const Address late = address_of(512);
  backend_.set_may_wait(true);
  backend_.on_wait([&](Place) {
    backend_.set_may_wait(false);
    EXPECT_EQ(free(late), Result::ok);
  });

  EXPECT_TRUE(allocate(512).status.ok());

  EXPECT_EQ(pending(), 1);
  EXPECT_FALSE(allocator_.find(late).live);
}

TEST_F(PendingFree, IsForgottenWithItsPlace) {
  allocator_.forget_place(kDevice0);

  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(statistics().segment.all.current, 0);
}

// The program made the call, whenever its block becomes reusable.
TEST_F(PendingFree, IsACallAtOnce) {
  EXPECT_EQ(allocator_.snapshot().kinds.at(0).frees, 1u);

  backend_.set_may_wait(true);
  allocator_.trim();

  EXPECT_EQ(allocator_.snapshot().kinds.at(0).frees, 1u);
}

class LostPlace : public AllocatorFixture {};

// Nobody called cudaFree, so num_device_free stays.
TEST_F(LostPlace, ItsSegmentsAreNotCountedAsGivenBack) {
  ASSERT_TRUE(allocate(512).status.ok());
  ASSERT_TRUE(allocator_.adopt(kDevice0, 0x500000000000, 4096, 0).status.ok());

  allocator_.forget_place(kDevice0);

  EXPECT_EQ(statistics().num_device_free, 0);
  EXPECT_EQ(statistics().segment.all.freed, 2);
}

}  // namespace
}  // namespace vramscope::test
