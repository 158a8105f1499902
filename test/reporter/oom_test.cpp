// What is looked at when memory ran out, from parts with known numbers.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/oom.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "reporter/report/assemble.h"
#include "reporter/report/attribution.h"
#include "reporter/report/report.h"
#include "test/reporter/sample.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Oom, WhatItCountsIsWhatTheSnapshotHolds) {
  const ReportParts parts = sample_parts();
  const OomEvent event = describe_refusal(parts, sample_refusal());

  EXPECT_EQ(event.reserved_bytes, 22 * kMiB);
  EXPECT_EQ(event.allocated_bytes, 1024 + 20 * kMiB);
  EXPECT_EQ(event.requested_bytes, 1000 + 20 * kMiB - 10);
  EXPECT_EQ(event.allocation_count, 2U);
  EXPECT_EQ(event.split_free_bytes, 2 * kMiB - 1024);
  EXPECT_EQ(event.largest_free_bytes, 2 * kMiB - 1024);
  EXPECT_EQ(event.idle_bytes, 0U);
  EXPECT_EQ(event.outside_bytes, 600 * kMiB);
  EXPECT_EQ(event.time_ns, 700'000'000U);
  // By itself the one block takes a chunk of 2 MiB, and the other its 20 MiB: as much as now.
  EXPECT_EQ(event.native_free_bytes, event.free_bytes);
}

TEST(Oom, AFreeSegmentWouldBeFreeNatively) {
  ReportParts parts = sample_parts();
  SegmentSnapshot& large = parts.memory.segments[1];
  ASSERT_EQ(large.total_size, 20 * kMiB);
  parts.memory.blocks[large.first_block].state = BlockState::inactive;
  large.allocated_size = large.active_size = large.requested_size = 0;

  const OomEvent event = describe_refusal(parts, sample_refusal());

  EXPECT_EQ(event.idle_bytes, 20 * kMiB);
  EXPECT_EQ(event.native_free_bytes, event.free_bytes + 20 * kMiB);
}

// Once the estimate took them for packed without a gap, and blamed the cache.
TEST(Oom, NativelySmallBlocksTakeThePagesThatTheyTakeHere) {
  ReportParts parts = sample_parts();
  BlockSnapshot live = parts.memory.blocks[parts.memory.segments[0].first_block];
  ASSERT_EQ(live.state, BlockState::active_allocated);
  live.size = live.requested_size = 700 << 10;
  for (std::uint64_t i = 1; i <= 3; ++i) {  // one in each
    SegmentSnapshot small = parts.memory.segments[0];
    small.address = live.address = (std::uint64_t{1} << 48) + i * 2 * kMiB;
    small.allocated_size = small.active_size = small.requested_size = live.size;
    small.first_block = static_cast<std::uint32_t>(parts.memory.blocks.size());
    small.block_count = 1;
    parts.memory.segments.push_back(small);
    parts.memory.blocks.push_back(live);
  }

  const OomEvent event = describe_refusal(parts, sample_refusal());

  EXPECT_EQ(event.reserved_bytes, (22 + 3 * 2) * kMiB);
  EXPECT_EQ(event.native_free_bytes, event.free_bytes);
}

TEST(Oom, ManagedMemoryCountsAsFarAsItLiesOnTheDevice) {
  ReportParts parts = sample_parts();
  Refusal refusal = sample_refusal();
  const OomEvent before = describe_refusal(parts, refusal);
  SegmentSnapshot managed;
  managed.place = {.kind = Kind::managed, .device = 0};
  managed.address = std::uint64_t{1} << 48;
  managed.total_size = 64 * kMiB;
  managed.is_direct = true;
  parts.memory.segments.push_back(managed);
  const std::uint64_t known =
      before.reserved_bytes + before.direct_bytes + before.rounding_bytes + before.outside_bytes;
  for (const std::uint64_t there : {std::uint64_t{0}, 24 * kMiB, 64 * kMiB, 100 * kMiB}) {
    refusal.free_bytes = refusal.total_bytes - known - there;
    const OomEvent event = describe_refusal(parts, refusal);
    EXPECT_EQ(event.direct_bytes, before.direct_bytes + std::min(there, 64 * kMiB));
  }
  refusal.by_limit = true;
  EXPECT_EQ(describe_refusal(parts, refusal).direct_bytes, before.direct_bytes);
}

TEST(Oom, WhatLiesBetweenTheDriversSmallAllocationsIsRoundingNotOthers) {
  ReportParts parts = sample_parts();
  const OomEvent before = describe_refusal(parts, sample_refusal());
  for (std::uint64_t i = 0; i < 4; ++i) {  // two in each of two pages
    SegmentSnapshot direct;
    direct.place = {.kind = Kind::device, .device = 0};
    direct.address = (std::uint64_t{1} << 48) + i / 2 * 2 * kMiB + i % 2 * kMiB;
    direct.total_size = 700 << 10;
    direct.is_direct = true;
    parts.memory.segments.push_back(direct);
  }

  OomEvent event = describe_refusal(parts, sample_refusal());

  EXPECT_EQ(event.direct_bytes, before.direct_bytes + 4 * (700 << 10));
  EXPECT_EQ(event.rounding_bytes, before.rounding_bytes + 4 * kMiB - 4 * (700 << 10));
  EXPECT_EQ(event.outside_bytes, before.outside_bytes);

  parts.memory.segments.back().address += 4 * kMiB;  // alone in a third
  event = describe_refusal(parts, sample_refusal());
  EXPECT_EQ(event.rounding_bytes, before.rounding_bytes + 6 * kMiB - 4 * (700 << 10));
  EXPECT_EQ(event.outside_bytes, before.outside_bytes - 2 * kMiB);

  const auto others = [](const ReportParts& of) {
    std::uint64_t bytes = 0;
    for (const LedgerEntry& entry : assemble(of).ledger) {
      if (entry.kind == "others") bytes += entry.device_bytes;
    }
    return bytes;
  };
  EXPECT_EQ(others(parts), others(sample_parts()) - 2 * kMiB);
}

TEST(Oom, OneRowTellsOfAllSegmentsThatACallStackPins) {
  ReportParts parts = sample_parts();
  const SegmentSnapshot small = parts.memory.segments[0];
  ASSERT_EQ(small.block_count, 2U);
  parts.memory.segments.push_back(small);

  const OomEvent event = describe_refusal(parts, sample_refusal());

  ASSERT_EQ(event.pins.size(), 1U);
  EXPECT_EQ(event.pins[0].segments, 2U);
  EXPECT_EQ(event.pins[0].free_bytes, 2 * (2 * kMiB - 1024));
  EXPECT_EQ(event.pins[0].live_count, 2U);
  EXPECT_EQ(event.pins[0].tag, 1U);
}

TEST(Oom, SitesAreThoseOfTheReport) {
  const Report report = assemble(sample_parts());

  ASSERT_EQ(report.oom.events.size(), 1U);
  const OomEvent& event = report.oom.events[0];
  ASSERT_GE(event.site, 0);
  const Site& site = report.sites[static_cast<std::size_t>(event.site)];
  EXPECT_EQ(site.refused_count, 1U);
  EXPECT_EQ(site.refused_bytes, 1U << 30);
  ASSERT_EQ(event.pins.size(), 1U);
  EXPECT_EQ(event.pins[0].site, event.site);
}

TEST(Oom, ACallStackThatNeverGotAnythingIsASite) {
  ReportParts parts = sample_parts();
  const std::size_t before = assemble(sample_parts()).sites.size();
  TagFact& never_served = parts.recorder.tags.own().emplace_back();
  never_served.site = 4;
  never_served.refused_count = 2;
  never_served.refused_bytes = 7;

  const Report report = assemble(std::move(parts));

  ASSERT_EQ(report.sites.size(), before + 1);
  EXPECT_EQ(report.sites.back().refused_count, 2U);
  EXPECT_EQ(report.sites.back().totals.total_count, 0U);
}

// On a full H200 the axes lacked 0.77 ms of the time of sites: that of requests of a size that was
// always refused, whose tag the allocator never met.
TEST(Oom, TimeOfCallsThatWereAllRefusedCountsOnEachAxis) {
  const auto times = [](const ReportParts& parts) {
    std::array<std::uint64_t, kAxes> sums{};
    for (const AxisEntry& entry : make_axes(parts)) {
      sums[static_cast<std::size_t>(entry.axis)] += entry.totals.total_ns;
    }
    return sums;
  };
  ReportParts parts = sample_parts();
  const std::array<std::uint64_t, kAxes> before = times(parts);
  TagFact& never_served = parts.recorder.tags.own().emplace_back();
  never_served.site = 4;
  never_served.total_ns = 772'451;

  const std::array<std::uint64_t, kAxes> after = times(parts);

  ASSERT_LT(parts.memory.tags.size(), parts.recorder.tags.size());
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    EXPECT_EQ(after[axis], before[axis] + 772'451) << axis;
  }
}

// Times were counted from the machine's start then.
TEST(Oom, BeforeAnythingWasAllocatedTheRunBeginsWithIt) {
  ReportParts parts = sample_parts();
  parts.memory.start_ns = 0;
  parts.memory.taken_ns = sample_refusal().event.start_ns + 5;

  EXPECT_EQ(describe_refusal(parts, sample_refusal()).time_ns, 0U);
  EXPECT_EQ(assemble(std::move(parts)).timeline.duration_ns, 0U);
}

TEST(Oom, OfHostMemoryOnlyTheHostsIsTold) {
  Refusal refusal = sample_refusal();
  refusal.event.place = {.kind = Kind::pinned};

  const OomEvent event = describe_refusal(sample_parts(), refusal);

  EXPECT_EQ(event.reserved_bytes, 0U);
  ASSERT_FALSE(event.shares.empty());
  for (const OomShare& share : event.shares) EXPECT_TRUE(is_host(share.kind));
}

}  // namespace
}  // namespace vramscope
