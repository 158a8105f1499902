// What each tag held at the peak.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

class LedgerTest : public AllocatorFixture {};

TEST_F(LedgerTest, CountsRequestedBytes) {
  ASSERT_EQ(free(address_of(1000, 1)), Result::ok);
  static_cast<void>(address_of(300, 1));

  EXPECT_EQ(tag(1).live_bytes, 300u);
  EXPECT_EQ(tag(1).live_count, 1u);
  EXPECT_EQ(tag(1).total_bytes, 1300u);
  EXPECT_EQ(tag(1).total_count, 2u);
}

TEST_F(LedgerTest, TheRaisingAllocationCountsInItsOwnPeak) {
  static_cast<void>(address_of(1000, 1));
  static_cast<void>(address_of(300, 2));

  EXPECT_EQ(tag(1).peak_bytes, 1000u);
  EXPECT_EQ(tag(2).peak_bytes, 300u);
}

TEST_F(LedgerTest, WhatComesAfterThePeakIsNotInIt) {
  const Address address = address_of(1000, 1);
  static_cast<void>(address_of(300, 2));
  ASSERT_EQ(free(address), Result::ok);

  static_cast<void>(address_of(100, 3));

  EXPECT_EQ(tag(1).peak_bytes, 1000u);
  EXPECT_EQ(tag(1).live_bytes, 0u);
  EXPECT_EQ(tag(3).peak_bytes, 0u);
  EXPECT_EQ(tag(3).live_bytes, 100u);
}

TEST_F(LedgerTest, PeaksOfGroupsAreThoseOfGroupsThatWereJoined) {
  for (Tag tag = 1; tag <= 4; ++tag) allocator_.join(tag, {tag});

  EXPECT_EQ(allocator_.snapshot().group_peaks.size(), 5u);
}

TEST_F(LedgerTest, AResetBeginsANewPeak) {
  const Address address = address_of(1000, 1);
  static_cast<void>(address_of(300, 2));
  ASSERT_EQ(free(address), Result::ok);

  allocator_.reset_peaks();

  EXPECT_EQ(tag(1).peak_bytes, 0u);
  EXPECT_EQ(tag(2).peak_bytes, 300u);
}

TEST_F(LedgerTest, AResetOfOneDeviceLeavesTheOthers) {
  constexpr Place kOtherDevice{.kind = Kind::device, .device = 1, .context = 7};
  ASSERT_EQ(free(address_of(1000, 1)), Result::ok);
  ASSERT_EQ(free(address_of(2000, 2, kOtherDevice)), Result::ok);

  allocator_.reset_peaks(0);
  allocator_.reset_accumulated(0);

  EXPECT_EQ(tag(1).peak_bytes, 0u);
  EXPECT_EQ(tag(2).peak_bytes, 2000u);
  EXPECT_EQ(statistics(0).allocation.all.peak, 0);
  EXPECT_EQ(statistics(0).allocation.all.allocated, 0);
  EXPECT_EQ(statistics(1).allocation.all.peak, 1);
  EXPECT_EQ(statistics(1).allocation.all.allocated, 1);
}

TEST_F(LedgerTest, StatisticsOfADeviceAreNoneBeforeItsFirstUse) {
  DeviceStatistics read;
  EXPECT_FALSE(allocator_.read_statistics(0, read));

  static_cast<void>(address_of(1000));

  EXPECT_TRUE(allocator_.read_statistics(0, read));
  EXPECT_EQ(read.requested_bytes.all.current, 1000);
  HostStatistics host;
  EXPECT_FALSE(allocator_.read_host_statistics(host));
}

TEST_F(LedgerTest, KindsAndDevicesPeakApart) {
  allocator_.adopt({.kind = Kind::managed}, 0x1000, 500, 1);
  static_cast<void>(address_of(1000, 2));
  EXPECT_TRUE(allocator_.forget(0x1000).status.ok());
  static_cast<void>(address_of(1000, 2));

  EXPECT_EQ(tag(1).peak_bytes, 500u);
  EXPECT_EQ(tag(2).peak_bytes, 2000u);
}

TEST_F(LedgerTest, TheUnknownTagMayStandForSeveralKinds) {
  allocator_.adopt({.kind = Kind::managed}, 0x1000, 500, 0);
  EXPECT_TRUE(allocator_.forget(0x1000).status.ok());
  static_cast<void>(address_of(1000, 0));

  EXPECT_EQ(tag(0).peak_bytes, 1500u);
  EXPECT_EQ(tag(0).live_bytes, 1000u);
}

TEST_F(LedgerTest, AKindsBytesAreThoseOfTheStatistics) {
  static_cast<void>(address_of(1000, 1));
  ASSERT_EQ(free(address_of(3 * kMiB, 2)), Result::ok);

  const Snapshot snapshot = allocator_.snapshot();
  const Stat requested = snapshot.devices[0].statistics.requested_bytes.all;
  EXPECT_EQ(snapshot.kinds[0].current_bytes, static_cast<std::uint64_t>(requested.current));
  EXPECT_EQ(snapshot.kinds[0].peak_bytes, static_cast<std::uint64_t>(requested.peak));
  EXPECT_EQ(snapshot.kinds[0].allocations, 2u);
  EXPECT_EQ(snapshot.kinds[0].frees, 1u);
}

TEST_F(LedgerTest, ALateTagFindsRoom) {
  static_cast<void>(address_of(1000, 100'000));

  EXPECT_EQ(tag(100'000).live_bytes, 1000u);
  EXPECT_EQ(tag(99'999).total_count, 0u);
}

TEST(Ledger, AgreesWithCopyingEveryTagAtEveryPeak) {
  Ledger ledger;
  constexpr Tag kTags = 20;
  std::vector<std::uint64_t> live(kTags), at_peak(kTags);
  std::uint64_t current = 0, peak = 0;
  std::vector<std::pair<Tag, std::uint64_t>> held;
  std::mt19937_64 random(4);

  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t choice = random() % 1000;
    if (choice == 0) {
      ledger.reset_peaks();
      peak = current;
      at_peak = live;
    } else if (choice < 520 || held.empty()) {
      const Tag tag = static_cast<Tag>(random() % kTags);
      const std::uint64_t bytes = random() % 1000;
      ASSERT_TRUE(ledger.prepare(tag));
      ledger.count_allocation({}, tag, bytes);
      held.emplace_back(tag, bytes);
      live[tag] += bytes;
      current += bytes;
      if (current > peak) {
        peak = current;
        at_peak = live;
      }
    } else {
      const std::size_t at = random() % held.size();
      const auto [tag, bytes] = held[at];
      held[at] = held.back();
      held.pop_back();
      ledger.count_free({}, tag, bytes);
      live[tag] -= bytes;
      current -= bytes;
    }
    if (i % 100) continue;
    Snapshot snapshot;
    ledger.describe(snapshot);
    for (Tag tag = 0; tag < snapshot.tags.size(); ++tag) {
      ASSERT_EQ(snapshot.tags[tag].live_bytes, live[tag]) << "step " << i << " tag " << tag;
      ASSERT_EQ(snapshot.tags[tag].peak_bytes, at_peak[tag]) << "step " << i << " tag " << tag;
    }
  }
}

}  // namespace
}  // namespace vramscope::test
