// How many reports signals may have.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/report_quota.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

using Answer = ReportQuota::Answer;
constexpr std::uint64_t kMs = 1'000'000;

TEST(ReportQuota, GivesTenInAnySecond) {
  ReportQuota quota;
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(quota.ask(i * 90 * kMs), Answer::yes);

  EXPECT_EQ(quota.ask(999 * kMs), Answer::too_many_in_a_second);
  EXPECT_EQ(quota.ask(1000 * kMs), Answer::yes);  // the first is a second ago
  EXPECT_EQ(quota.ask(1089 * kMs), Answer::too_many_in_a_second);
  EXPECT_EQ(quota.ask(1090 * kMs), Answer::yes);
}

TEST(ReportQuota, GivesAThousandInAll) {
  ReportQuota quota;
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(quota.ask(i * 100 * kMs), Answer::yes) << i;

  EXPECT_EQ(quota.ask(1'000'000 * kMs), Answer::too_many_in_all);
}

}  // namespace
}  // namespace vramscope
