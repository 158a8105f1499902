// Which allocations that failed a report speaks of.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/oom_log.h"

#include <gtest/gtest.h>

#include "reporter/report/parts.h"

namespace vramscope {
namespace {

Refusal refusal_at(std::uint64_t ns) {
  Refusal refusal;
  refusal.event.start_ns = ns;
  refusal.event.bytes = ns;
  return refusal;
}

// It once was the last of the report, by an unknown call stack.
TEST(OomLog, WhatIsRefusedWhileAReportIsMadeIsInTheNextOne) {
  OomLog log;
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
  OomLog log;
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

}  // namespace
}  // namespace vramscope
