// What made up the peak, what is alive, what was saved.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/text/words.h"

#include <gtest/gtest.h>

#include "reporter/report/trigger.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Digest, SharesOfThePeakAreLargestFirst) {
  const std::vector<Share> shares = shares_of_peak(sample_report());

  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].site, 0u);
  EXPECT_EQ(shares[0].bytes, 512 * kMiB);
  EXPECT_EQ(shares[0].whole, 768 * kMiB);
  EXPECT_EQ(shares[2].kind, Kind::pinned);
  EXPECT_EQ(shares[2].whole, 64 * kMiB);
}

TEST(Digest, WhatIsAliveIsAShareOfEverything) {
  Report report = sample_report();
  SitePart pinned = report.sites[2].parts[0];
  pinned.totals.live_bytes = 12 * kMiB;
  pinned.totals.live_count = 1;
  report.sites[2].parts[0] = pinned;

  const std::vector<Share> shares = shares_alive(report);

  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].whole, 16 * kMiB);
  EXPECT_EQ(shares[1].whole, 16 * kMiB);
}

TEST(Digest, OnlyWhatIsAllocatedIsAlive) {
  const std::vector<Share> shares = shares_alive(sample_report());

  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].site, 1u);
  EXPECT_EQ(shares[0].count, 2u);
}

// Blocks whose free waits for graphs were called leaks.
TEST(Digest, WhatWasFreedIsNotAliveWhileItsFreeIsPending) {
  Report report = sample_report();
  const std::uint64_t before = shares_alive(report).at(0).bytes;
  SegmentFacts segment;
  segment.blocks = {{.requested_size = 1000, .state = BlockState::active_pending_free, .site = 1},
                    {.requested_size = 5, .state = BlockState::active_allocated, .site = 1}};
  report.devices[0].segments.push_back(segment);

  const std::vector<Share> one = shares_alive(report);
  report.sites[1].parts[0].totals.live_bytes = 1000;
  report.sites[1].parts[0].totals.live_count = 1;
  const std::vector<Share> none = shares_alive(report);

  EXPECT_EQ(one.at(0).bytes, before - 1000);
  EXPECT_EQ(one.at(0).whole, before - 1000);
  EXPECT_EQ(one.at(0).count, 1u);
  EXPECT_TRUE(none.empty());
}

TEST(Digest, BytesOfAKindAddOwners) {
  Report report = sample_report();
  report.kinds.push_back(report.kinds[1]);

  EXPECT_EQ(bytes_of(report, Kind::pinned).peak, 128 * kMiB);
  EXPECT_EQ(bytes_of(report, Kind::managed).calls, 0u);
}

// Seen of a trace that was cut at its beginning.
TEST(Digest, OfATraceNothingIsSaidOfWhatWasNotWritten) {
  Report report;
  EXPECT_EQ(render(nothing_text(report), {}), "Nothing was allocated.\n");

  report.trigger = word_of(Trigger::trace);

  EXPECT_EQ(render(nothing_text(report), {}),
            "Nothing was allocated in what was written of the trace.\n");
}

}  // namespace
}  // namespace vramscope
