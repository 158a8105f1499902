// Marks that repeat are counted by name, in bounded memory.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/mark_rows.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace vramscope {
namespace {

TEST(MarkRows, CountsNamesThatComeAgainByDomain) {
  MarkRows rows;
  for (std::uint64_t i = 0; i < 3; ++i) {
    rows.count(10 * i, "", "net");
    rows.count(10 * i + 1, "net", "step");
    rows.count(10 * i + 2, "", "netstep");
  }
  rows.count(40, "net", "step");

  const std::vector<RepeatedMark> facts = rows.facts(3);
  ASSERT_EQ(facts.size(), 3U);
  EXPECT_EQ(facts[0].name, "net");
  EXPECT_EQ(facts[1].name, "net:step");
  EXPECT_EQ(facts[1].marks, 4U);
  EXPECT_EQ(facts[1].clocks_ns, (std::vector<std::uint64_t>{1, 11, 21, 40}));
  EXPECT_EQ(facts[2].name, "netstep");
  EXPECT_EQ(rows.facts(4).size(), 1U);
}

TEST(MarkRows, KeepsTimesEvenlySpread) {
  MarkRows rows;
  for (std::uint64_t i = 0; i < 1000; ++i) rows.count(i, "", "step");

  const RepeatedMark step = rows.facts(3).at(0);
  EXPECT_EQ(step.marks, 1000U);
  ASSERT_EQ(step.clocks_ns.size(), 63U);
  for (std::uint64_t i = 0; i < 63; ++i) EXPECT_EQ(step.clocks_ns[i], 16 * i);
}

// "step 17": memory stays as it is, and what repeats is counted, before them or after them.
TEST(MarkRows, NamesThatNeverComeAgainPushNothingOut) {
  MarkRows rows;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    rows.count(i, "", "step " + std::to_string(i));
    if (i % 2 == 0) rows.count(i, "", "even");
    if (i >= 900) rows.count(i, "", "late");
  }

  const std::vector<RepeatedMark> facts = rows.facts(2);
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].name, "even");
  EXPECT_EQ(facts[0].marks, 500U);
  EXPECT_EQ(facts[1].name, "late");
  EXPECT_EQ(facts[1].marks, 100U);
  EXPECT_EQ(rows.facts(1).size(), MarkRows::kMost);
}

TEST(MarkRows, FurtherNamesAreNotCountedWhereAllRepeat) {
  MarkRows rows;
  for (std::uint64_t i = 0; i < 2 * MarkRows::kMost; ++i) {
    rows.count(i, "", std::to_string(i % MarkRows::kMost));
  }
  for (int i = 0; i < 5; ++i) rows.count(1000, "", "one more");

  EXPECT_EQ(rows.facts(1).size(), MarkRows::kMost);
  EXPECT_TRUE(rows.facts(3).empty());
}

TEST(MarkRows, LongNamesAreCut) {
  MarkRows rows;
  const std::string longer(MarkRows::kMaxName + 9, 'x');
  for (int i = 0; i < 3; ++i) rows.count(1, longer, longer + std::to_string(i));

  const std::string cut = longer.substr(0, MarkRows::kMaxName);
  EXPECT_EQ(rows.facts(3).at(0).name, cut + ":" + cut);
}

}  // namespace
}  // namespace vramscope
