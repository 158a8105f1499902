// What changed between two reports, as text.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/diff_text.h"

#include <gtest/gtest.h>

#include <string>

#include "test/view/made_builds.h"

namespace vramscope {
namespace {

// Every row is of a function that all call: what differs is who called that.
TEST(Diff, RowsOfACommonFunctionAreToldApartWhereThereIsLittleRoom) {
  Build before = build(100);
  Build after = build(100);
  before.site({before.frame("allocate_something", 19), before.frame("attention", 34)}, 256 * kMiB);
  before.site({before.frame("allocate_something", 19), before.frame("evaluate", 41)}, 2 * kMiB);
  after.site({after.frame("allocate_something", 19), after.frame("attention", 34)}, 400 * kMiB);
  after.site({after.frame("allocate_something", 19), after.frame("evaluate", 41)}, 9 * kMiB);

  const std::string text =
      render(diff_text(compare(before, after), {.before = "a", .after = "b"}, Page{.width = 80}),
             Page{.width = 80});

  EXPECT_NE(text.find("  GPU 0   attention (train.cpp:34)\n"), text.npos) << text;
  EXPECT_NE(text.find("  GPU 0   evaluate (train.cpp:41)\n"), text.npos) << text;
}

TEST(Diff, InFullShowsEachFrameOnALine) {
  Build before = build(100);
  Build after = build(100);
  after.site({after.frame("allocate_something", 19), after.frame("attention", 34)}, 400 * kMiB);

  const std::string text = render(diff_text(compare(before, after), {.before = "a", .after = "b"},
                                            Page{.width = 80, .stacks = Stacks::in_full}),
                                  Page{.width = 80, .stacks = Stacks::in_full});

  const std::size_t first = text.find("\n      allocate_something (");
  ASSERT_NE(first, text.npos) << text;
  EXPECT_EQ(text.find("\n      attention (", first + 1), text.find('\n', first + 1)) << text;
  EXPECT_EQ(text.find("WHERE"), text.npos) << text;
}

// GPU 0 grows by as much as pinned memory shrinks, which gives it no room.
TEST(Diff, MemoryOfTheHostAndOfAGpuAreNotAdded) {
  Build before = build(100);
  Build after = build(100);
  const auto hold = [](Build& of, Kind kind, std::uint64_t bytes) {
    of.report.kinds.push_back({.kind = kind, .current_bytes = bytes, .peak_bytes = bytes});
  };
  hold(before, Kind::device, 100 * kMiB);
  hold(before, Kind::managed, 10 * kMiB);
  hold(before, Kind::pinned, 50 * kMiB);
  hold(after, Kind::device, 140 * kMiB);
  hold(after, Kind::managed, 10 * kMiB);
  hold(after, Kind::pinned, 10 * kMiB);

  const Differences found = compare(before, after);
  const DiffOf of{.before = "a", .after = "b", .limit = kMiB, .memory_at_end = found.memory};
  const std::string text = render(diff_text(found, of, Page{}), Page{});

  const std::string gpu = "  GPU 0, sum of its peaks  110 MiB -> 150 MiB (+40.0 MiB, +36.4 %)\n";
  EXPECT_NE(text.find(gpu), text.npos) << text;
  EXPECT_EQ(text.find("160 MiB"), text.npos) << text;
  EXPECT_NE(text.find("  at the end  GPU 0 100 MiB -> 140 MiB (+40.0 MiB, +40.0 %), pinned"),
            text.npos)
      << text;
  EXPECT_NE(text.find("Above the threshold of 1.00 MiB: GPU 0 grew by 40.0 MiB.\n"), text.npos)
      << text;
  EXPECT_TRUE(crosses(found, 40 * kMiB - 1));
  EXPECT_FALSE(crosses(found, 40 * kMiB));
  EXPECT_FALSE(crosses(compare(after, before), 40 * kMiB));
}

}  // namespace
}  // namespace vramscope
