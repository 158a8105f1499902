// Axes of bytes and of time, and areas on them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Plot, TellsTheTopOfEachRow) {
  const std::vector<std::uint64_t> columns{kMiB, 186 * kMiB};
  const BytesAxis linear = axis_for(columns, 8, Scale::linear);
  const BytesAxis log = axis_for(columns, 8, Scale::log);

  EXPECT_EQ(linear.top_of(7), 192 * kMiB);
  EXPECT_EQ(linear.eighths(186 * kMiB), 62U);
  EXPECT_EQ(log.bottom, kMiB / 4);
  EXPECT_EQ(log.rows, 5U);
  EXPECT_EQ(log.top_of(4), 256 * kMiB);
  EXPECT_EQ(log.eighths(kMiB), 8U);
  EXPECT_EQ(log.eighths(16 * kMiB), 24U);
  EXPECT_EQ(log.eighths(1), 1U);  // what is there is seen
  EXPECT_EQ(log.eighths(0), 0U);
}

TEST(Plot, SurvivesExtremeNumbers) {
  const std::vector<std::uint64_t> columns{1, UINT64_MAX};
  for (const Scale scale : {Scale::linear, Scale::log}) {
    const std::string text = area_text(columns, axis_for(columns, 4, scale), {});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  }
  EXPECT_FALSE(time_axis_text(0, UINT64_MAX, 40, {}).empty());
  EXPECT_FALSE(time_axis_text(UINT64_MAX - 1, UINT64_MAX, 40, {}).empty());
}

}  // namespace
}  // namespace vramscope
