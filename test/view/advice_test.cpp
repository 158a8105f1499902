// What takes time is found where calls are repeated and their time is worth a word, and not in a
// program that keeps its memory.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/advice/advice.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/advice_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

// A run of a second with one call site.
Report made(Kind kind, const SiteTotals& totals, std::vector<std::uint64_t> lifetimes) {
  Report report;
  report.trigger = "exit";
  report.process.mode = "cache";
  report.timeline.duration_ns = 1000 * kMillisecond;
  Site& site = report.sites.emplace_back();
  site.totals = totals;
  site.lifetimes = std::move(lifetimes);
  site.parts.push_back({.kind = kind, .device = 0, .totals = totals});
  report.kinds.push_back({.kind = kind,
                          .current_bytes = totals.live_bytes,
                          .peak_bytes = totals.peak_bytes,
                          .allocations = totals.total_count,
                          .frees = totals.total_count - totals.live_count});
  return report;
}

std::vector<Advice> found_in(const Report& report) { return advice_of_report(report, {}); }

SiteTotals loop_of(std::uint64_t count, std::uint64_t total_ns) {
  return {.live_bytes = 0,
          .live_count = 0,
          .peak_bytes = kMebibyte,
          .peak_count = 1,
          .total_bytes = count * kMebibyte,
          .total_count = count,
          .total_ns = total_ns};
}

// Below 1 us, 10 us, 100 us, ...
std::vector<std::uint64_t> lives(std::uint64_t below_100_us, std::uint64_t below_100_ms) {
  return {0, 0, below_100_us, 0, 0, below_100_ms};
}

TEST(Advice, OfAllocationsThatLiveBrieflyTheTimeOfAllButOneIsSaved) {
  const Report report = made(Kind::device, loop_of(1000, 100 * kMillisecond), lives(900, 100));

  const std::vector<Advice> found = found_in(report);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, FindingKind::temporary);
  EXPECT_EQ(found[0].saves_ns, 99'900'000U);
  EXPECT_EQ(found[0].saves_bytes, 0U);
  EXPECT_EQ(found[0].sure, Certainty::about);
  EXPECT_EQ(found[0].count, 900U);
  EXPECT_EQ(found[0].lived_ns, 100'000U);
  EXPECT_EQ(words_of(report, found[0], {}).saves, "saves about 99.9 ms");
}

TEST(Advice, MemoryThatLivesOnIsNotTemporary) {
  const SiteTotals totals = loop_of(1000, 100 * kMillisecond);
  EXPECT_TRUE(found_in(made(Kind::device, totals, lives(899, 101))).empty());
  EXPECT_TRUE(found_in(made(Kind::device, totals, lives(899, 0))).empty()) << "101 are live";
  EXPECT_TRUE(found_in(made(Kind::device, loop_of(99, 100 * kMillisecond), lives(99, 0))).empty());
}

TEST(Advice, TimeBelowAHundredthOfTheRunIsNotWorthAWord) {
  const SiteTotals totals = loop_of(1000, 9 * kMillisecond);
  EXPECT_TRUE(found_in(made(Kind::device, totals, lives(1000, 0))).empty());
  EXPECT_TRUE(found_in(made(Kind::registered, totals, lives(1000, 0))).empty());
}

TEST(Advice, OfRepeatedPinningTheTimeOfAllButWhatIsKeptIsSaved) {
  SiteTotals totals = loop_of(100, 200 * kMillisecond);
  totals.peak_count = 4;
  totals.peak_bytes = 4 * kMebibyte;

  for (const Kind kind : {Kind::pinned, Kind::registered}) {
    const Report report = made(kind, totals, lives(100, 0));
    const std::vector<Advice> found = found_in(report);

    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].what, FindingKind::pinned_again);
    EXPECT_EQ(found[0].saves_ns, 192 * kMillisecond);
    EXPECT_EQ(
        words_of(report, found[0], {}).command,
        std::string("sites --by time --kind ") + (kind == Kind::pinned ? "pinned" : "registered"));
  }
}

TEST(Advice, BuffersThatStayPinnedAreNotPinnedAgain) {
  SiteTotals totals = loop_of(100, 200 * kMillisecond);
  totals.peak_count = totals.live_count = 100;
  EXPECT_TRUE(found_in(made(Kind::pinned, totals, {})).empty());
}

TEST(Advice, MemoryComesBeforeTimeAndTheLargestSavingFirst) {
  std::vector<Advice> all{{.what = FindingKind::temporary, .saves_ns = 5},
                          {.what = FindingKind::rounded, .saves_bytes = 1},
                          {.what = FindingKind::pinned_again, .saves_ns = 7},
                          {.what = FindingKind::grows, .saves_bytes = 2}};

  put_largest_first(all);

  std::vector<FindingKind> order;
  for (const Advice& advice : all) order.push_back(advice.what);
  EXPECT_EQ(order, (std::vector<FindingKind>{FindingKind::grows, FindingKind::rounded,
                                             FindingKind::pinned_again, FindingKind::temporary}));
}

}  // namespace
}  // namespace vramscope
