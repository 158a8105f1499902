// How many reports signals may have.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/report_quota.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(ReportQuota, GivesTenInAnySecond) {
  ReportQuota quota;
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(quota.held_back_ns(i * 90 * kMs), 0u);
    quota.count(i * 90 * kMs);
  }

  EXPECT_EQ(quota.held_back_ns(999 * kMs), 1 * kMs);
  EXPECT_EQ(quota.held_back_ns(1000 * kMs), 0u);  // the first is a second ago
  quota.count(1000 * kMs);
  EXPECT_EQ(quota.held_back_ns(1050 * kMs), 40 * kMs);
  EXPECT_EQ(quota.held_back_ns(1090 * kMs), 0u);
}

TEST(ReportQuota, GivesAThousandInAll) {
  ReportQuota quota;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(quota.held_back_ns(i * 100 * kMs), 0u) << i;
    quota.count(i * 100 * kMs);
  }

  EXPECT_EQ(quota.held_back_ns(1'000'000 * kMs), ReportQuota::kForever);
}

}  // namespace
}  // namespace vramscope
