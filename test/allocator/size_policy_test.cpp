// The table of size_policy.h, row by row.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/size_policy.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace vramscope {
namespace {

struct Row {
  std::uint64_t request, rounded;
  PoolClass pool;
  std::uint64_t segment, least_segment;
};

constexpr Row kRows[] = {
    {1, 512, PoolClass::small, 2 * kMiB, 2 * kMiB},
    {512, 512, PoolClass::small, 2 * kMiB, 2 * kMiB},
    {513, 1024, PoolClass::small, 2 * kMiB, 2 * kMiB},
    {kMiB, kMiB, PoolClass::small, 2 * kMiB, 2 * kMiB},
    {kMiB + 1, kMiB + 512, PoolClass::large, 20 * kMiB, 2 * kMiB},
    {2 * kMiB + 1, 2 * kMiB + 512, PoolClass::large, 20 * kMiB, 4 * kMiB},
    {10 * kMiB - 512, 10 * kMiB - 512, PoolClass::large, 20 * kMiB, 10 * kMiB},
    {10 * kMiB - 511, 10 * kMiB, PoolClass::large, 10 * kMiB, 10 * kMiB},
    {11 * kMiB, 11 * kMiB, PoolClass::large, 12 * kMiB, 12 * kMiB},
    {kRefused - 1, kRefused, PoolClass::large, kRefused, kRefused},
};

class SizePolicy : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Table, SizePolicy, testing::ValuesIn(kRows));

TEST_P(SizePolicy, RoundsToWholeUnits) {
  EXPECT_EQ(round_request(GetParam().request), GetParam().rounded);
}

TEST_P(SizePolicy, ChoosesThePoolByTheRoundedSize) {
  EXPECT_EQ(pool_class(GetParam().rounded), GetParam().pool);
}

TEST_P(SizePolicy, ChoosesTheSegmentByTheRoundedSize) {
  EXPECT_EQ(segment_bytes(GetParam().rounded, Limits{}), GetParam().segment);
}

TEST_P(SizePolicy, FallsBackToTheSmallestSegmentThatFits) {
  EXPECT_EQ(least_segment_bytes(GetParam().rounded), GetParam().least_segment);
}

TEST(SizePolicy, SplitsASmallBlockDownToOneUnit) {
  EXPECT_TRUE(worth_splitting(PoolClass::small, 512, 512, Limits{}));
  EXPECT_FALSE(worth_splitting(PoolClass::small, 512, 0, Limits{}));
}

TEST(SizePolicy, KeepsALargeBlockWholeUnlessMoreThanOneMebibyteRemains) {
  EXPECT_FALSE(worth_splitting(PoolClass::large, 2 * kMiB, kMiB, Limits{}));
  EXPECT_TRUE(worth_splitting(PoolClass::large, 2 * kMiB, kMiB + 512, Limits{}));
}

}  // namespace
}  // namespace vramscope
