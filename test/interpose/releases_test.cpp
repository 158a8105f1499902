// Releases that the driver is amid, when it gives their addresses to others.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/releases.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <thread>

#include "allocator/base/call_time.h"
#include "test/simulator/device/simulated_backend.h"

namespace vramscope::test {
namespace {

constexpr Place kOrdered{.kind = Kind::stream_ordered};
constexpr Place kPlain{.kind = Kind::device};
constexpr Tag kFirst = 1, kSecond = 2;

class ReleasesTest : public testing::Test {
 protected:
  ~ReleasesTest() override { call_time_ns = 0; }

  void add(Place where, Address address, std::uint64_t bytes, Tag tag, std::uint64_t at_ns = 0) {
    call_time_ns = at_ns;
    releases_.end_before(allocator_, where.kind, address, bytes);
    EXPECT_TRUE(allocator_.adopt(where, address, bytes, tag).status.ok());
  }
  [[nodiscard]] Releases::Release release_of(Address address, std::uint64_t at_ns = 0) const {
    return {.address = address, .newest = allocator_.newest(), .start_ns = at_ns};
  }
  // As a call does whose function the driver has done.
  [[nodiscard]] Outcome end(const Releases::Underway& release, Address address) {
    return release.forget(allocator_, Kind::device, address);
  }
  [[nodiscard]] Lifetimes lifetimes_of(Tag tag) const {
    return allocator_.snapshot().tags.at(tag).lifetimes;
  }

  simulator::SimulatedDevice device_{{}};
  simulator::SimulatedBackend backend_{device_};
  CachingAllocator allocator_{backend_, {}};
  Releases releases_;
};

TEST_F(ReleasesTest, KnowsWhatAnAllocationAtTheSameAddressTookTheRecordOf) {
  add(kOrdered, 0x1000, 0x300, kFirst);
  const Releases::Underway release(releases_, release_of(0x1000));
  add(kOrdered, 0x9000, 0x100, kSecond);
  add(kOrdered, 0x1000, 0x100, kSecond);

  const Outcome gone = end(release, 0x1000);

  EXPECT_TRUE(gone.status.ok());
  EXPECT_EQ(gone.address, 0x1000u);
  EXPECT_EQ(gone.requested, 0x300u);
  EXPECT_EQ(gone.tag, kFirst);
  EXPECT_EQ(gone.where, kOrdered);
  EXPECT_EQ(gone.serial, 2u);  // after the allocation elsewhere, before that at its own address
  EXPECT_TRUE(allocator_.find_direct(Kind::device, 0x1000).direct);
}

TEST_F(ReleasesTest, KnowsItOfEachPieceOfWhatIsNowOneMemory) {
  add(kPlain, 0x1000, 0x100, kFirst);
  add(kPlain, 0x1100, 0x100, kFirst);
  const Releases::Underway first(releases_, release_of(0x1000));
  const Releases::Underway second(releases_, release_of(0x1100));
  add(kPlain, 0x1000, 0x200, kSecond);

  EXPECT_EQ(end(first, 0x1000).requested, 0x100u);
  EXPECT_EQ(end(second, 0x1100).requested, 0x100u);
}

TEST_F(ReleasesTest, KnowsItOfMemoryOfWhichTheOtherGotTheEnd) {
  add(kPlain, 0x1000, 0x200, kFirst);
  const Releases::Underway release(releases_, release_of(0x1000));
  add(kPlain, 0x1100, 0x100, kSecond);

  EXPECT_EQ(end(release, 0x1000).requested, 0x200u);
}

TEST_F(ReleasesTest, EndsALifeWhenItsReleaseBegan) {
  allocator_.join(kFirst, {1});
  add(kOrdered, 0x1000, 0x100, kFirst, 1'000);
  const Releases::Underway release(releases_, release_of(0x1000, 1'900));
  add(kOrdered, 0x1000, 0x100, kSecond, 5'000'000'000);

  const Lifetimes lifetimes = lifetimes_of(kFirst);

  EXPECT_EQ(lifetimes, (Lifetimes{1}));  // 0.9 us; after 5 s the address had another owner
}

TEST_F(ReleasesTest, LeavesAloneWhatCameAfterTheReleaseBegan) {
  const Releases::Underway release(releases_, release_of(0x1000));
  add(kPlain, 0x1000, 0x100, kFirst);
  add(kPlain, 0x1000, 0x200, kSecond);

  EXPECT_FALSE(end(release, 0x1000).status.ok());
}

TEST_F(ReleasesTest, AreFoundByTheAllocatorWhereNobodyTookTheRecord) {
  add(kPlain, 0x1000, 0x100, kFirst);
  const Releases::Underway release(releases_, release_of(0x1000));
  add(kPlain, 0x2000, 0x100, kSecond);

  EXPECT_FALSE(release.ended().status.ok());
  EXPECT_EQ(end(release, 0x1000).tag, kFirst);
}

// The first thread has a slot to itself, for one at a time.
TEST_F(ReleasesTest, OfSeveralThreadsAreAllFound) {
  for (const Address address : {0x1000, 0x2000, 0x3000}) add(kPlain, address, 0x100, kFirst);
  const Releases::Underway first(releases_, release_of(0x1000));
  std::optional<Releases::Underway> of_another;
  std::thread([&] { of_another.emplace(releases_, release_of(0x2000)); }).join();
  const Releases::Underway amid_first(releases_, release_of(0x3000));
  for (const Address address : {0x1000, 0x2000, 0x3000}) add(kPlain, address, 0x100, kSecond);

  EXPECT_EQ(first.ended().address, 0x1000u);
  EXPECT_EQ(of_another->ended().address, 0x2000u);
  EXPECT_EQ(amid_first.ended().address, 0x3000u);
}

// One for each thread: of more than 64 that freed at once the others were not noted.
TEST_F(ReleasesTest, AreNotedUpToALimit) {
  constexpr Address kAll = Releases::kMost + 1;
  std::deque<Releases::Underway> all;
  for (Address i = 1; i <= kAll; ++i) {
    add(kPlain, i << 12, 0x100, kFirst);
    all.emplace_back(releases_, release_of(i << 12));
  }
  for (Address i = 1; i <= kAll; ++i) add(kPlain, i << 12, 0x100, kSecond);

  for (std::size_t i = 0; i < Releases::kMost; ++i) EXPECT_TRUE(all[i].ended().status.ok()) << i;
  EXPECT_FALSE(all.back().ended().status.ok());
}

TEST_F(ReleasesTest, AreFoundAlsoWhereEarlierOnesHaveEnded) {
  std::deque<Releases::Underway> all;
  for (Address i = 1; i <= 70; ++i) {
    add(kPlain, i << 12, 0x100, kFirst);
    all.emplace_back(releases_, release_of(i << 12));
  }
  for (int i = 0; i < 69; ++i) all.pop_front();
  add(kPlain, 70 << 12, 0x100, kSecond);

  EXPECT_TRUE(all.back().ended().status.ok());
}

}  // namespace
}  // namespace vramscope::test
