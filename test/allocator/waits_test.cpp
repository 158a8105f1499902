// Numbers of waits: what one covers, also when they wrap.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/pool/waits.h"

#include <gtest/gtest.h>

namespace vramscope::test {
namespace {

TEST(Waits, CoverWhatWasFreedBeforeTheyBegan) {
  Waits waits;
  const Waits::Number before = waits.now();
  const Waits::Number wait = waits.begin();
  const Waits::Number during = waits.now();

  EXPECT_FALSE(waits.cover(before));
  waits.end(wait);

  EXPECT_TRUE(waits.cover(before));
  EXPECT_FALSE(waits.cover(during));
  EXPECT_TRUE(waits.cover(waits.settled()));
}

TEST(Waits, MayEndInAnyOrder) {
  Waits waits;
  const Waits::Number first = waits.begin();
  const Waits::Number freed = waits.now();
  const Waits::Number second = waits.begin();
  waits.end(second);

  waits.end(first);

  EXPECT_TRUE(waits.cover(freed));
}

TEST(Waits, OneThatDidNotBeginHereCountsForNothing) {
  Waits waits;
  const Waits::Number freed = waits.now();

  waits.end(freed + 5);

  EXPECT_FALSE(waits.cover(freed));
}

TEST(Waits, TheNewerOfTwoNumbersIsKeptAcrossTheWrap) {
  EXPECT_EQ(Waits::newer(1, 2), 2u);
  EXPECT_EQ(Waits::newer(2, 1), 2u);
  EXPECT_EQ(Waits::newer(~Waits::Number{0}, 3), 3u);
}

}  // namespace
}  // namespace vramscope::test
