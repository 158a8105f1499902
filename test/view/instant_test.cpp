// Instants as they are typed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reporter/view/analysis/filter/instant.h"

namespace vramscope {
namespace {

TEST(Instant, IsANumberAndAUnit) {
  EXPECT_EQ(read_instant("1.5s"), 1'500'000'000U);
  EXPECT_EQ(read_instant("2"), 2'000'000'000U);
  EXPECT_EQ(read_instant("200ms"), 200'000'000U);
  EXPECT_EQ(read_instant("3.40 ms"), 3'400'000U);  // as we write it
  EXPECT_EQ(read_instant("2min"), 120'000'000'000U);
  for (const char* bad :
       {"", "s", "-1", "1e3", "inf", "1.2.3s", "5 years", "1ss", "1000000000000h"}) {
    EXPECT_FALSE(read_instant(bad)) << bad;
  }
}

}  // namespace
}  // namespace vramscope
