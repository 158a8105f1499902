// Which allocations that failed a report speaks of.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/oom_log.h"

#include <gtest/gtest.h>

#include <atomic>

#include "reporter/report/parts.h"

namespace vramscope {
namespace {

Refusal refusal_at(std::uint64_t ns) {
  Refusal refusal;
  refusal.event.start_ns = ns;
  refusal.event.bytes = ns;
  return refusal;
}

constexpr std::uint64_t kNobody = ~std::uint64_t{0};

// It once was the last of the report, by an unknown call stack.
TEST(OomLog, WhatIsRefusedWhileAReportIsMadeIsInTheNextOne) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  EXPECT_TRUE(log.note(refusal_at(10)));
  log.begin_report();
  EXPECT_TRUE(log.note(refusal_at(20)));
  log.describe({});
  const OomReport first = log.report({});
  EXPECT_EQ(first.count, 1U);
  ASSERT_EQ(first.events.size(), 1U);
  EXPECT_EQ(first.events[0].bytes, 10U);

  log.begin_report();
  log.describe({});
  const OomReport second = log.report({});
  EXPECT_EQ(second.count, 2U);
  ASSERT_EQ(second.events.size(), 2U);
  EXPECT_TRUE(second.events[1].has_details);
  EXPECT_EQ(second.events[1].bytes, 20U);
}

TEST(OomLog, TheLastOfAStormIsThatBeforeTheReport) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  for (std::uint64_t i = 1; i <= OomLog::kFirst + 4; ++i)
    static_cast<void>(log.note(refusal_at(i)));
  log.begin_report();
  static_cast<void>(log.note(refusal_at(100)));
  log.describe({});
  const OomReport report = log.report({});
  EXPECT_EQ(report.count, OomLog::kFirst + 4);
  ASSERT_EQ(report.events.size(), OomLog::kFirst + 1);
  EXPECT_EQ(report.events.back().number, OomLog::kFirst + 4);
  EXPECT_FALSE(report.events.back().has_details);
}

Event allocation(std::uint64_t ns, std::uint64_t bytes, std::uint16_t device = 0) {
  return {.place = {.kind = Kind::device, .device = device}, .bytes = bytes, .start_ns = ns};
}

TEST(OomLog, TellsWhenAsMuchWasServedAfterAll) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  for (const std::uint64_t bytes : {300, 100}) {
    static_cast<void>(log.note({.event = allocation(1000, bytes)}));
  }
  EXPECT_EQ(wanted, 100U);

  log.note_served(allocation(2000, 500, 1));  // of another device
  EXPECT_EQ(wanted, 100U);
  log.note_served(allocation(3000, 200));
  EXPECT_EQ(wanted, 300U);
  log.note_served(allocation(4000, 200));  // not the first

  log.begin_report();
  log.describe({});
  const OomReport report = log.report({});
  ASSERT_EQ(report.events.size(), 2U);
  EXPECT_TRUE(report.events[0].is_watched);
  EXPECT_EQ(report.events[0].served_ns, -1);
  EXPECT_EQ(report.events[1].served_ns, 3000);

  log.note_served(allocation(5000, 300));
  EXPECT_EQ(wanted, kNobody);
}

TEST(OomLog, OfAStormTheFirstOnesAndTheLastAreWatched) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    static_cast<void>(log.note({.event = allocation(i, 1000 - i)}));
  }
  EXPECT_EQ(wanted, 900U);
  log.note_served(allocation(2000, 990));
  EXPECT_EQ(wanted, 991U);

  log.begin_report();
  log.describe({});
  const OomReport report = log.report({});
  ASSERT_EQ(report.events.size(), OomLog::kFirst + 1);
  EXPECT_EQ(report.events[0].served_ns, -1);  // it asked for 999
  EXPECT_EQ(report.events[9].served_ns, 2000);
  EXPECT_EQ(report.events.back().served_ns, 2000);
}

// Nobody knows what would be as much.
TEST(OomLog, WhatAsksForNothingKnownIsNotWatched) {
  std::atomic<std::uint64_t> wanted{kNobody};
  OomLog log(wanted);
  static_cast<void>(log.note({.event = allocation(1, 0)}));
  EXPECT_EQ(wanted, kNobody);
  log.begin_report();
  log.describe({});
  EXPECT_FALSE(log.report({}).events.at(0).is_watched);
}

}  // namespace
}  // namespace vramscope
