// What each tag held at the peak.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
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

class JointPeakTest : public LedgerTest {
 protected:
  static constexpr Place kManaged{.kind = Kind::managed};

  JointPeakTest() {
    for (Tag tag = 1; tag <= 3; ++tag) allocator_.join(tag, {tag});
  }
};

TEST_F(JointPeakTest, TellsWhatWasLiveWhenAllKindsTogetherWereTheMost) {
  ASSERT_EQ(free(address_of(3000, 1)), Result::ok);
  allocator_.adopt(kManaged, 0x1000, 2500, 2);
  static_cast<void>(address_of(1000, 3));
  EXPECT_TRUE(allocator_.forget(0x1000).status.ok());

  const Snapshot snapshot = allocator_.snapshot();

  ASSERT_EQ(snapshot.joint_peaks.size(), 1u);
  EXPECT_EQ(snapshot.joint_peaks[0].peak_bytes, 3500u);
  EXPECT_EQ(snapshot.joint_peaks[0].current_bytes, 1000u);
  EXPECT_EQ(snapshot.joint_peaks[0].peak_tag, 3u);
  EXPECT_EQ(snapshot.tags[1].joint_bytes, 0u);
  EXPECT_EQ(snapshot.tags[2].joint_bytes, 2500u);
  EXPECT_EQ(snapshot.tags[2].joint_count, 1u);
  EXPECT_EQ(snapshot.tags[3].joint_bytes, 1000u);
}

TEST_F(JointPeakTest, IsTheFirstKindsUntilAllTogetherExceedIt) {
  ASSERT_EQ(free(address_of(3000, 1)), Result::ok);
  static_cast<void>(address_of(1000, 2));
  allocator_.adopt(kManaged, 0x1000, 2000, 3);

  const Snapshot snapshot = allocator_.snapshot();

  ASSERT_EQ(snapshot.joint_peaks.size(), 1u);
  EXPECT_EQ(snapshot.joint_peaks[0].peak_bytes, 3000u);
  EXPECT_EQ(snapshot.joint_peaks[0].peak_tag, 1u);
  EXPECT_EQ(snapshot.tags[1].joint_bytes, 3000u);
  EXPECT_EQ(snapshot.tags[2].joint_bytes, 0u);
  EXPECT_EQ(snapshot.tags[3].joint_bytes, 0u);
}

TEST_F(JointPeakTest, IsOfDevicesThatHadSeveralKindsOfTheirOwnMemory) {
  static_cast<void>(address_of(1000, 1));
  allocator_.adopt({.kind = Kind::registered}, 0x1000, 2000, 2);
  static_cast<void>(address_of(1000, 3, {.kind = Kind::device, .device = 1, .context = 7}));

  EXPECT_TRUE(allocator_.snapshot().joint_peaks.empty());
}

TEST_F(JointPeakTest, BeginsAnewWithAResetOfItsDevice) {
  allocator_.adopt(kManaged, 0x1000, 2000, 1);
  ASSERT_EQ(free(address_of(1000, 2)), Result::ok);

  allocator_.reset_peaks(0);

  const Snapshot snapshot = allocator_.snapshot();
  ASSERT_EQ(snapshot.joint_peaks.size(), 1u);
  EXPECT_EQ(snapshot.joint_peaks[0].peak_bytes, 2000u);
  EXPECT_EQ(snapshot.tags[1].joint_bytes, 2000u);
  EXPECT_EQ(snapshot.tags[2].joint_bytes, 0u);
}

TEST_F(LedgerTest, NothingIsToldOfAllKindsWhereNoDetailsAreKept) {
  allocator_.adopt({.kind = Kind::managed}, 0x1000, 2000, 1);
  static_cast<void>(address_of(1000, 2));

  EXPECT_TRUE(allocator_.snapshot().joint_peaks.empty());
}

// Every tag is of one kind and device; what all hold is copied at each peak of a device.
class CopiedJointPeaks {
 public:
  void came(std::uint16_t device, Kind kind, Tag tag, std::uint64_t bytes) {
    OfDevice& of = devices_[device];
    of.kinds.insert(kind);
    of.live[tag] += bytes;
    of.current += bytes;
    if (of.current > of.peak) set_peak(of);
  }
  void went(std::uint16_t device, Tag tag, std::uint64_t bytes) {
    devices_[device].live[tag] -= bytes;
    devices_[device].current -= bytes;
  }
  void reset() {
    for (auto& [device, of] : devices_) set_peak(of);
  }
  void expect_in(const Snapshot& snapshot, int step) const {
    std::map<Tag, std::uint64_t> then;
    std::vector<std::uint64_t> peaks;
    for (const auto& [device, of] : devices_) {
      if (of.kinds.size() < 2) continue;
      peaks.push_back(of.peak);
      then.insert(of.at_peak.begin(), of.at_peak.end());
    }
    ASSERT_EQ(snapshot.joint_peaks.size(), peaks.size()) << "step " << step;
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      ASSERT_EQ(snapshot.joint_peaks[i].peak_bytes, peaks[i]) << "step " << step;
    }
    for (Tag tag = 0; tag < snapshot.tags.size(); ++tag) {
      const auto held = then.find(tag);
      const std::uint64_t expected = held == then.end() ? 0 : held->second;
      ASSERT_EQ(snapshot.tags[tag].joint_bytes, expected) << "step " << step << " tag " << tag;
    }
  }

 private:
  struct OfDevice {
    std::set<Kind> kinds;
    std::map<Tag, std::uint64_t> live, at_peak;
    std::uint64_t current = 0, peak = 0;
  };
  static void set_peak(OfDevice& of) {
    of.peak = of.current;
    of.at_peak = of.live;
  }
  std::map<std::uint16_t, OfDevice> devices_;
};

TEST(Ledger, AgreesWithCopyingEveryTagAtEveryJointPeak) {
  constexpr std::array kKinds{Kind::device, Kind::managed, Kind::stream_ordered};
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Ledger ledger;
    CopiedJointPeaks copied;
    std::mt19937_64 random(seed);
    struct Held {
      Place where;
      Tag tag;
      std::uint64_t bytes;
    };
    std::vector<Held> held;
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t choice = random() % 1000;
      if (choice == 0) {
        ledger.reset_peaks();
        copied.reset();
      } else if (choice < 510 || held.empty()) {
        const auto device = static_cast<std::uint16_t>(random() % 2);
        const std::size_t kind = random() % std::min<std::size_t>(3, 1 + i / 200);
        const auto tag = static_cast<Tag>(1 + device * 30 + kind * 10 + random() % 10);
        const Place where{.kind = kKinds[kind], .device = device};
        const std::uint64_t bytes = random() % 1000;
        ledger.join(tag, {});
        ledger.count_allocation(where, tag, bytes);
        copied.came(device, where.kind, tag, bytes);
        held.push_back({where, tag, bytes});
      } else {
        const std::size_t at = random() % held.size();
        const Held gone = held[at];
        held[at] = held.back();
        held.pop_back();
        ledger.count_free(gone.where, gone.tag, gone.bytes);
        copied.went(gone.where.device, gone.tag, gone.bytes);
      }
      if (i % 20) continue;
      Snapshot snapshot;
      ledger.describe(snapshot);
      copied.expect_in(snapshot, i);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace vramscope::test
