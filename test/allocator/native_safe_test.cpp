// The native-safe policy: what the driver would serve is served, and idle memory never stands in
// its way.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "allocator/pool/block_table.h"
#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

class NativeSafe : public AllocatorFixture {
 protected:
  explicit NativeSafe(std::uint64_t capacity = 1024 * kMiB,
                      Limits limits = {.policy = Policy::native_safe, .idle_share = 1})
      : AllocatorFixture(capacity, limits) {}

  std::int64_t reserved() const { return statistics().reserved_bytes.all.current; }
  std::uint64_t driver_calls() const { return statistics().num_device_alloc; }
};

struct Row {
  std::uint64_t request, block, segment;
};

constexpr Limits kNative{.policy = Policy::native_safe};

TEST(NativeSafeSizes, AreWhatTheDriverTakes) {
  constexpr Row kRows[] = {
      {1, 512, 2 * kMiB},
      {kMiB, kMiB, 2 * kMiB},
      {kMiB + 1, 2 * kMiB, 2 * kMiB},
      {2 * kMiB, 2 * kMiB, 2 * kMiB},
      {2 * kMiB + 1, 4 * kMiB, 4 * kMiB},
      {17 * kMiB, 18 * kMiB, 18 * kMiB},
      {20 * kMiB, 20 * kMiB, 20 * kMiB},
      {kRefused - 1, kRefused, kRefused},
  };
  for (const Row& row : kRows) {
    const std::uint64_t rounded = round_request(row.request, kNative);
    EXPECT_EQ(rounded, row.block) << row.request;
    EXPECT_EQ(segment_bytes(rounded, kNative), row.segment) << row.request;
  }
}

// Settings that other versions of a policy's rules would obey.
TEST(NativeSafeSizes, AreNobodyElsesBusiness) {
  Limits limits = kNative;
  limits.max_split_size = 25 * kMiB;
  limits.large_segment_size = 40 * kMiB;
  limits.exact_fallback = false;
  limits.roundup_power2_divisions.fill(2);

  EXPECT_EQ(limits.under_policy(), kNative);
}

// Idle memory that another thread is giving back is in no book, and the driver's not yet.
TEST_F(NativeSafe, MemoryOnItsWayBackIsWaitedFor) {
  ASSERT_EQ(free(address_of(900 * kMiB)), Result::ok);
  std::atomic<bool> is_leaving{false};
  std::atomic<bool> was_refused{false};
  backend_.on_release([&](Place, Address) {
    is_leaving = true;
    while (!was_refused) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // for whoever does not wait
  });
  std::thread trimming([&] { allocator_.trim(); });
  while (!is_leaving) std::this_thread::yield();
  backend_.on_reserve([&](Place, std::size_t) { was_refused = true; });

  EXPECT_EQ(allocate(600 * kMiB).status.result, Result::ok);

  trimming.join();
}

TEST_F(NativeSafe, ServesWhatHolesWouldRefuse) {
  std::vector<Address> blocks;
  for (int i = 0; i < 45; ++i) blocks.push_back(address_of(20 * kMiB));
  for (const Address block : blocks) EXPECT_EQ(free(block), Result::ok);
  blocks.clear();
  for (int i = 0; i < 45; ++i) {
    blocks.push_back(address_of(17 * kMiB));
    static_cast<void>(address_of(2 * kMiB));
  }

  for (const Address block : blocks) EXPECT_EQ(free(block), Result::ok);

  EXPECT_EQ(allocator_.recoverable_bytes(0), 45 * 18 * kMiB);
  EXPECT_TRUE(allocate(300 * kMiB).status.ok());
}

TEST_F(NativeSafe, GivesASegmentToItsOwnClassOnly) {
  const Address segment = address_of(20 * kMiB);
  EXPECT_EQ(free(segment), Result::ok);

  EXPECT_NE(address_of(18 * kMiB), segment);
  EXPECT_NE(address_of(22 * kMiB), segment);
  const Outcome out = allocate(19 * kMiB);

  EXPECT_EQ(out.address, segment);
  EXPECT_EQ(out.source, Source::hit);
  EXPECT_EQ(out.rounded, 20 * kMiB);
}

TEST_F(NativeSafe, KeepsEachLargeBlockAlone) {
  const Outcome out = allocate(3 * kMiB);

  EXPECT_EQ(out.rounded, 4 * kMiB);
  EXPECT_EQ(reserved(), std::int64_t{4 * kMiB});
  EXPECT_TRUE(allocator_.find(out.address).dedicated);
}

TEST_F(NativeSafe, LetsSmallBlocksShare) {
  const Address first = address_of(kMiB);
  const Address second = address_of(kMiB);

  EXPECT_EQ(second, first + kMiB);
  EXPECT_EQ(reserved(), std::int64_t{2 * kMiB});
}

// Of 16 TiB, where a block's size in units ends.
class HugeDevice : public NativeSafe {
 protected:
  HugeDevice() : NativeSafe(std::uint64_t{16} << 40) {}
};

TEST_F(HugeDevice, TakesNoClassForAnotherOne) {
  const Address small = address_of(2 * kMiB);
  EXPECT_EQ(free(small), Result::ok);

  const Outcome out = allocate(kMaxBlockBytes);

  EXPECT_NE(out.address, small);
  EXPECT_EQ(out.rounded, kMaxBlockBytes);
  EXPECT_EQ(allocate(kMaxBlockBytes + 1).status.result, Result::failed);
}

class CappedIdle : public NativeSafe {
 protected:
  CappedIdle() : NativeSafe(1024 * kMiB, {.policy = Policy::native_safe, .idle_share = 0.125}) {
    constexpr Address kElsewhere = 0x600000000000;
    EXPECT_TRUE(allocator_.adopt(kDevice0, kElsewhere, 900 * kMiB, 0).status.ok());
  }
};

class UncappedIdle : public NativeSafe {
 protected:
  UncappedIdle() : NativeSafe(1024 * kMiB, {.policy = Policy::native_safe}) {}
};

TEST_F(UncappedIdle, IsNoMoreThanTheDeviceHasLeft) {
  std::vector<Address> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(address_of(8 * kMiB));

  for (const Address block : blocks) EXPECT_EQ(free(block), Result::ok);

  EXPECT_LE(allocator_.idle_bytes(0), 512 * kMiB);
  EXPECT_GE(allocator_.idle_bytes(0), 448 * kMiB);
}

TEST_F(UncappedIdle, IsLessWhenTheProgramGetsMemoryElsewhere) {
  const Address first = address_of(400 * kMiB);
  const Address second = address_of(2 * kMiB);
  EXPECT_EQ(free(first), Result::ok);
  EXPECT_EQ(allocator_.idle_bytes(0), 400 * kMiB);
  EXPECT_TRUE(allocator_.adopt(kDevice0, 0x600000000000, 300 * kMiB, 0).status.ok());

  EXPECT_EQ(free(second), Result::ok);

  EXPECT_LT(allocator_.idle_bytes(0), 400 * kMiB);
}

TEST_F(CappedIdle, StaysWithinItsShare) {
  std::vector<Address> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(address_of(8 * kMiB));

  for (const Address block : blocks) {
    EXPECT_EQ(free(block), Result::ok);
    EXPECT_LE(allocator_.idle_bytes(0), 128 * kMiB);
  }

  EXPECT_GE(allocator_.idle_bytes(0), 112 * kMiB);
}

TEST_F(CappedIdle, GivesTheLongestIdleBackFirst) {
  const Address old = address_of(60 * kMiB);
  EXPECT_EQ(free(old), Result::ok);
  const Address newer = address_of(50 * kMiB);
  EXPECT_EQ(free(newer), Result::ok);
  const Address newest = address_of(64 * kMiB);

  EXPECT_EQ(free(newest), Result::ok);

  const std::uint64_t before = driver_calls();
  EXPECT_EQ(address_of(64 * kMiB), newest);
  EXPECT_EQ(address_of(50 * kMiB), newer);
  EXPECT_EQ(driver_calls(), before);
  static_cast<void>(address_of(60 * kMiB));
  EXPECT_EQ(driver_calls(), before + 1);
}

TEST_F(CappedIdle, CountsEmptySmallSegments) {
  std::vector<Address> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(address_of(kMiB));

  for (const Address block : blocks) EXPECT_EQ(free(block), Result::ok);

  EXPECT_LE(allocator_.idle_bytes(0), 128 * kMiB);
}

TEST_F(CappedIdle, IsSharedByThePlacesOfADevice) {
  const Address here = address_of(100 * kMiB);
  const Address there = address_of(100 * kMiB, 0, kOtherContext);

  EXPECT_EQ(free(here), Result::ok);
  EXPECT_EQ(free(there), Result::ok);

  EXPECT_LE(allocator_.idle_bytes(0), 128 * kMiB);
}

TEST_F(CappedIdle, WaitsForTheEndOfACapture) {
  const Address block = address_of(200 * kMiB);
  backend_.set_may_wait(false);
  EXPECT_EQ(free(block), Result::ok);
  backend_.set_may_wait(true);

  static_cast<void>(address_of(2 * kMiB));

  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
}

class WantedIdle : public NativeSafe {};

TEST_F(WantedIdle, GoesBackAtTheNextCallWhenSomebodyElseTakesMemory) {
  const Address block = address_of(20 * kMiB);
  const Address other = address_of(2 * kMiB);
  EXPECT_EQ(free(block), Result::ok);
  allocator_.note_unrecorded(0, 100 * kMiB);
  allocator_.note_unrecorded(0, 164 * kMiB);
  EXPECT_EQ(allocator_.idle_bytes(0), 20 * kMiB);

  EXPECT_NE(allocate(20 * kMiB).source, Source::hit);

  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
  EXPECT_EQ(free(other), Result::ok);
  EXPECT_EQ(allocator_.idle_bytes(0), 2 * kMiB) << "what is idle after that may stay";
}

TEST_F(WantedIdle, GoesBackInAFreeAsWell) {
  const Address block = address_of(20 * kMiB);
  const Address other = address_of(2 * kMiB);
  EXPECT_EQ(free(block), Result::ok);
  allocator_.note_unrecorded(0, 0);
  allocator_.note_unrecorded(0, 64 * kMiB);

  EXPECT_EQ(free(other), Result::ok);

  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
}

TEST_F(WantedIdle, StaysWhenOthersGiveMemoryBackOrHardlyTakeAny) {
  EXPECT_EQ(free(address_of(20 * kMiB)), Result::ok);
  for (const std::uint64_t mebibytes : {100U, 50U, 40U, 48U}) {
    allocator_.note_unrecorded(0, mebibytes * kMiB);
  }

  EXPECT_EQ(allocate(20 * kMiB).source, Source::hit);
}

class WantedOfPyTorch : public AllocatorFixture {};

TEST_F(WantedOfPyTorch, StaysUnderItsPolicy) {
  EXPECT_EQ(free(address_of(1000 * kMiB)), Result::ok);
  allocator_.note_unrecorded(0, 0);
  allocator_.note_unrecorded(0, 512 * kMiB);

  EXPECT_EQ(allocate(1000 * kMiB).source, Source::hit);
}

class PostedTrim : public NativeSafe {
 protected:
  std::atomic<bool> is_done_{false};
};

TEST_F(PostedTrim, IsDoneByTheNextAllocation) {
  EXPECT_EQ(free(address_of(20 * kMiB)), Result::ok);
  allocator_.trim(&is_done_);
  EXPECT_EQ(allocator_.idle_bytes(0), 20 * kMiB);
  EXPECT_FALSE(is_done_);

  EXPECT_NE(allocate(20 * kMiB).source, Source::hit);

  EXPECT_TRUE(is_done_);
  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
}

TEST_F(PostedTrim, IsDoneByTheNextFreeAndOnlyOnce) {
  const Address block = address_of(20 * kMiB);
  const Address other = address_of(2 * kMiB);
  EXPECT_EQ(free(block), Result::ok);
  allocator_.trim(&is_done_);

  EXPECT_EQ(free(other), Result::ok);

  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
  EXPECT_EQ(free(address_of(4 * kMiB)), Result::ok);
  EXPECT_EQ(allocate(4 * kMiB).source, Source::hit);
}

TEST_F(PostedTrim, WaitsForTheEndOfACapture) {
  EXPECT_EQ(free(address_of(20 * kMiB)), Result::ok);
  allocator_.trim(&is_done_);
  backend_.set_may_wait(false);
  static_cast<void>(address_of(2 * kMiB));
  EXPECT_FALSE(is_done_);
  backend_.set_may_wait(true);

  static_cast<void>(address_of(2 * kMiB));

  EXPECT_TRUE(is_done_);
  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
}

TEST_F(PostedTrim, WaitsForNoOtherDevice) {
  constexpr Place kOther{.kind = Kind::device, .device = 1, .context = 7};
  EXPECT_EQ(free(address_of(20 * kMiB)), Result::ok);
  EXPECT_EQ(free(address_of(30 * kMiB, 0, kOther)), Result::ok);
  allocator_.trim(&is_done_);

  const Address block = address_of(2 * kMiB);

  EXPECT_EQ(allocator_.idle_bytes(0), 0U);
  EXPECT_EQ(allocator_.idle_bytes(1), 30 * kMiB);
  EXPECT_FALSE(is_done_);
  EXPECT_EQ(free(block), Result::ok);
  EXPECT_EQ(allocate(2 * kMiB).source, Source::hit) << "the device was trimmed once";

  static_cast<void>(address_of(2 * kMiB, 0, kOther));

  EXPECT_EQ(allocator_.idle_bytes(1), 0U);
  EXPECT_TRUE(is_done_);
}

TEST_F(PostedTrim, IsDoneAtOnceWhereNothingWasAllocated) {
  allocator_.trim(&is_done_);

  EXPECT_TRUE(is_done_);
}

class TrimOfPyTorch : public AllocatorFixture {
 protected:
  std::atomic<bool> is_done_{false};
};

TEST_F(TrimOfPyTorch, IsDoneUnderItsPolicy) {
  EXPECT_EQ(free(address_of(100 * kMiB)), Result::ok);
  allocator_.trim(&is_done_);

  EXPECT_NE(allocate(100 * kMiB).source, Source::hit);

  EXPECT_TRUE(is_done_);
}

}  // namespace
}  // namespace vramscope::test
