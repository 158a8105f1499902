// What a watch measures beside the statistics.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

using Watch = CachingAllocator::Watch;
constexpr Place kOtherDevice{.kind = Kind::device, .device = 1, .context = 7};

class WatchTest : public AllocatorFixture {};

TEST_F(WatchTest, MeasuresFromItsBeginning) {
  const Address before = address_of(1000, 1);
  const Watch watch(allocator_, 0);
  const Address inside = address_of(3000, 2);
  static_cast<void>(address_of(500, 3));
  ASSERT_EQ(free(inside), Result::ok);
  ASSERT_EQ(free(before), Result::ok);

  const DeviceWatch read = watch.read();
  EXPECT_EQ(4500u, read.peak_bytes);
  EXPECT_EQ(500u, read.live_bytes);
  EXPECT_EQ(3500u, read.new_peak_bytes);
  EXPECT_EQ(500u, read.new_bytes);
  EXPECT_EQ(3u, read.new_peak_tag);
}

TEST_F(WatchTest, MemoryThatReplacesOlderMemoryIsNew) {
  ASSERT_EQ(free(address_of(1000, 1)), Result::ok);
  const Address before = address_of(1000, 1);
  const Watch watch(allocator_, 0);
  ASSERT_EQ(free(before), Result::ok);
  static_cast<void>(address_of(1000, 1));

  EXPECT_EQ(1000u, watch.read().peak_bytes);
  EXPECT_EQ(1000u, watch.read().new_peak_bytes);
  EXPECT_EQ(1000u, watch.read().new_bytes);
}

TEST_F(WatchTest, LeavesThePeaksOfTheProgramAlone) {
  ASSERT_EQ(free(address_of(9000, 1)), Result::ok);
  const Watch watch(allocator_, 0);
  static_cast<void>(address_of(1000, 1));
  allocator_.reset_peaks();
  ASSERT_EQ(free(address_of(2000, 1)), Result::ok);

  EXPECT_EQ(3000u, watch.read().peak_bytes);
  EXPECT_EQ(3000, statistics().requested_bytes.all.peak);
}

TEST_F(WatchTest, CoversAllKindsOfItsDeviceAndNoOther) {
  const Watch watch(allocator_, 0), other(allocator_, 1);
  allocator_.adopt({.kind = Kind::managed}, 0x1000, 500, 1);
  allocator_.adopt({.kind = Kind::pinned}, 0x9000, 70, 2);
  static_cast<void>(address_of(1000, 3));
  static_cast<void>(address_of(300, 4, kOtherDevice));
  EXPECT_TRUE(allocator_.forget(0x1000).status.ok());

  EXPECT_EQ(1500u, watch.read().peak_bytes);
  EXPECT_EQ(1500u, watch.read().new_peak_bytes);
  EXPECT_EQ(1000u, watch.read().new_bytes);
  EXPECT_EQ(300u, other.read().peak_bytes);
}

TEST_F(WatchTest, WatchesOverlapInAnyOrder) {
  auto first = std::make_unique<Watch>(allocator_, 0);
  const Address a = address_of(1000, 1);
  auto second = std::make_unique<Watch>(allocator_, 0);
  static_cast<void>(address_of(200, 1));
  ASSERT_EQ(free(a), Result::ok);
  EXPECT_EQ(1200u, first->read().new_peak_bytes);
  first.reset();
  static_cast<void>(address_of(30, 1));

  EXPECT_EQ(230u, second->read().new_bytes);
  EXPECT_EQ(1200u, second->read().peak_bytes);
}

TEST_F(WatchTest, WhatVanishedWithItsContextIsNotLive) {
  static_cast<void>(address_of(1000, 1));
  const Watch watch(allocator_, 0);
  static_cast<void>(address_of(500, 1));
  allocator_.forget_place(kDevice0);
  static_cast<void>(address_of(200, 1, kOtherContext));

  EXPECT_EQ(200u, watch.read().live_bytes);
  EXPECT_EQ(200u, watch.read().new_bytes);
  EXPECT_EQ(1500u, watch.read().peak_bytes);
  EXPECT_EQ(500u, watch.read().new_peak_bytes);
}

// A sum over live blocks that shares nothing with the books.
TEST_F(WatchTest, AgreesWithARecountOfRandomCalls) {
  std::mt19937 random(7);
  for (const bool has_details : {false, true}) {
    if (has_details) allocator_.join(1, {1});
    std::map<Address, std::pair<std::uint64_t, bool>> live;  // bytes, whether new
    std::uint64_t all = 0;
    for (const BlockSnapshot& block : allocator_.snapshot().blocks) {
      if (block.state != BlockState::active_allocated) continue;
      live[block.address] = {block.requested_size, false};
      all += block.requested_size;
    }
    const Watch watch(allocator_, 0);
    std::uint64_t fresh = 0, peak = all, fresh_peak = 0;
    for (int i = 0; i < 3000; ++i) {
      if (live.size() < 50 && random() % 2 == 0) {
        const std::uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 4 * kMiB : 4000);
        live[address_of(bytes, 1)] = {bytes, true};
        all += bytes, fresh += bytes;
        peak = std::max(peak, all), fresh_peak = std::max(fresh_peak, fresh);
      } else if (!live.empty()) {
        auto one = std::next(live.begin(), static_cast<long>(random() % live.size()));
        ASSERT_EQ(free(one->first), Result::ok);
        all -= one->second.first;
        if (one->second.second) fresh -= one->second.first;
        live.erase(one);
      }
    }

    const DeviceWatch read = watch.read();
    EXPECT_EQ(all, read.live_bytes);
    EXPECT_EQ(peak, read.peak_bytes);
    EXPECT_EQ(fresh, read.new_bytes);
    EXPECT_EQ(fresh_peak, read.new_peak_bytes);
  }
}

}  // namespace
}  // namespace vramscope::test
