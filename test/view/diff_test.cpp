// What changed between two reports: matched by names, and the same from both sides.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/diff/diff.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "reporter/view/text/diff_text.h"
#include "test/view/made_builds.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using nlohmann::json;

TEST(Diff, OfAReportWithItselfIsEmpty) {
  const Report report = sample_report();
  for (const DiffBy by : {DiffBy::site, DiffBy::owner, DiffBy::kind, DiffBy::function}) {
    for (const DiffAt at : {DiffAt::peak, DiffAt::end, DiffAt::total}) {
      const Differences found = differences(report, report, by, at, sample_names());
      EXPECT_TRUE(found.rows.empty());
      EXPECT_EQ(found.before_bytes, found.after_bytes);
      EXPECT_FALSE(crosses(found, 0));
    }
  }
}

TEST(Diff, TellsNewGoneGrownAndShrunkApart) {
  Build before = build(100);
  Build after = build(5000);  // another build: other addresses
  before.site({before.frame("grows", 1)}, 10 * kMiB);
  before.site({before.frame("shrinks", 2)}, 20 * kMiB);
  before.site({before.frame("stays", 3)}, 30 * kMiB);
  before.site({before.frame("goes", 4)}, 40 * kMiB);
  after.site({after.frame("comes", 9)}, 50 * kMiB);
  after.site({after.frame("stays", 3)}, 30 * kMiB);
  after.site({after.frame("shrinks", 2)}, 5 * kMiB);
  after.site({after.frame("grows", 1)}, 13 * kMiB);

  const Differences found = compare(before, after);

  ASSERT_EQ(found.rows.size(), 4u);
  EXPECT_EQ(found.rows[0].what(), Change::fresh);
  EXPECT_EQ(found.rows[1].what(), Change::gone);
  EXPECT_EQ(found.rows[2].what(), Change::shrunk);
  EXPECT_EQ(found.rows[3].what(), Change::grown);
  EXPECT_EQ(found.rows[3].change(), static_cast<std::int64_t>(3 * kMiB));
  EXPECT_EQ(found.equal, 1u);
  EXPECT_EQ(found.before_bytes, 100 * kMiB);
  EXPECT_EQ(found.after_bytes, 98 * kMiB);
}

// Seen of a buffer that the first run had freed before its peak: "new".
TEST(Diff, WhatAllocatedAndWasNotThereAtThePeakIsNotNew) {
  Build before = build(100);
  Build after = build(100);
  before.site({before.frame("buffer", 1)}, 0);
  before.site({before.frame("never_there", 2)}, 0);
  for (Site& site : before.report.sites) site.parts[0].totals.total_bytes = 7 * kMiB;
  after.site({after.frame("buffer", 1)}, 10 * kMiB);
  after.site({after.frame("never_there", 2)}, 0);

  const Differences found = compare(before, after);

  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].what(), Change::grown);
  EXPECT_EQ(compare(after, before).rows.at(0).what(), Change::shrunk);
  EXPECT_EQ(found.equal, 0u);
}

TEST(Diff, AllKindsOfADeviceAreComparedAtTheirJointPeak) {
  Build before = build(100);
  Build after = build(100);
  for (Build* one : {&before, &after}) {
    one->site({one->frame("a", 1)}, 100 * kMiB);
    one->report.kinds.push_back({.kind = Kind::managed, .peak_bytes = 60 * kMiB});
  }
  const auto sum = [&] { return compare(before, after).sums.at(0); };
  EXPECT_EQ(sum().before, 160 * kMiB);
  EXPECT_FALSE(sum().is_of_one_instant);

  before.report.joint_peaks = {{.facts = {.peak_bytes = 110 * kMiB}}};
  EXPECT_FALSE(sum().is_of_one_instant);
  after.report.joint_peaks = {{.facts = {.peak_bytes = 130 * kMiB}}};
  EXPECT_TRUE(sum().is_of_one_instant);
  EXPECT_EQ(sum().change(), static_cast<std::int64_t>(20 * kMiB));
}

TEST(Diff, FollowsPlacesWhoseLinesHaveMoved) {
  Build before = build(100);
  Build after = build(5000);
  before.site({before.frame("load", 9), before.frame("main", 50)}, 10 * kMiB);
  before.site({before.frame("load", 10), before.frame("main", 50)}, 20 * kMiB);
  after.site({after.frame("load", 11), after.frame("main", 52)}, 20 * kMiB);
  after.site({after.frame("load", 10), after.frame("main", 52)}, 11 * kMiB);

  const Differences found = compare(before, after);

  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].before.bytes, 10 * kMiB);
  EXPECT_EQ(found.rows[0].after.bytes, 11 * kMiB);
}

// Stacks of two functions, in `file` and a library's.
void load_and_store(Build& of, const std::string& file, std::uint64_t first, std::uint64_t second) {
  const std::uint32_t allocate = of.frame("allocate", 7, "/lib/gpu.py");
  of.site({allocate, of.frame("load", 10, file), of.frame("main", 50, file)}, first);
  of.site({allocate, of.frame("load", 11, file), of.frame("main", 50, file)}, second);
  of.site({allocate, of.frame("store", 20, file), of.frame("main", 51, file)}, 5 * kMiB);
}

TEST(Diff, OfARenamedFileIsOfTheSamePlaces) {
  Build before = build(100);
  Build after = build(5000);
  load_and_store(before, "/src/server.py", 10 * kMiB, 20 * kMiB);
  load_and_store(after, "/src/server3.py", 10 * kMiB, 24 * kMiB);

  const Differences found = compare(before, after);
  const std::string text = render(
      diff_text(found, {.before = "a", .after = "b"}, Page{.width = 100}), Page{.width = 100});
  const json written = json::parse(diff_json(found, {}));

  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].change(), static_cast<std::int64_t>(4 * kMiB));
  EXPECT_NE(text.find("  3 rows matched by functions alone, in files of other names: "
                      "server.py -> server3.py\n"),
            text.npos)
      << text;
  EXPECT_EQ(written["matched_by_functions"], 3);
  EXPECT_EQ(written["renamed_files"],
            json::parse(R"([{"before": "server.py", "after": "server3.py", "sites": 3}])"));
}

// Two lines of one function are one place where lines are not told.
TEST(Diff, OfABuildWithoutLinesMatchesFunctionsOfOnePlace) {
  Build before = build(100);
  Build after = build(5000);
  load_and_store(before, "/src/server.cpp", 10 * kMiB, 20 * kMiB);
  load_and_store(after, "", 10 * kMiB, 20 * kMiB);

  const Differences found = compare(before, after);
  const std::string text = render(
      diff_text(found, {.before = "a", .after = "b"}, Page{.width = 100}), Page{.width = 100});

  EXPECT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.equal, 1u);
  EXPECT_TRUE(found.renamed.empty());
  EXPECT_NE(text.find("  1 row matched by functions alone\n"), text.npos) << text;
}

// Whether attention's became that of mlp, or went while mlp's came back, nobody knows.
TEST(Diff, FunctionsAloneMatchNothingThatIsInSeveralFiles) {
  Build before = build(100);
  Build after = build(5000);
  before.site({before.frame("forward", 3, "/src/attention.py")}, 10 * kMiB);
  before.site({before.frame("forward", 5, "/src/norm.py")}, 20 * kMiB);
  after.site({after.frame("forward", 5, "/src/norm.py")}, 20 * kMiB);
  after.site({after.frame("forward", 9, "/src/mlp.py")}, 10 * kMiB);

  const Differences found = compare(before, after);

  EXPECT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.by_functions, 0u);
}

// A row that was less before has grown, and is not new.
TEST(Diff, OfSoManyBytesHasRowsThatHeldThemInEitherReport) {
  Build before = build(100);
  Build after = build(5000);
  before.site({before.frame("grows", 1)}, 16 * kMiB);
  before.site({before.frame("stays", 2)}, 30 * kMiB);
  before.site({before.frame("little", 3)}, 2 * kMiB);
  after.site({after.frame("grows", 1)}, 32 * kMiB);
  after.site({after.frame("stays", 2)}, 30 * kMiB);
  after.site({after.frame("little", 3)}, 5 * kMiB);

  const Differences found = differences(before.report, after.report, DiffBy::site, DiffAt::peak,
                                        names_of(before, after), 20 * kMiB);

  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].what(), Change::grown);
  EXPECT_EQ(found.rows[0].before.bytes, 16 * kMiB);
  EXPECT_EQ(found.equal, 1u);
  ASSERT_EQ(found.memory.size(), 1u);
  EXPECT_EQ(found.memory[0].before.bytes, 46 * kMiB);
  EXPECT_EQ(found.after_bytes, 62 * kMiB);
}

TEST(Diff, ByFunctionAddsItsPlaces) {
  Build before = build(100);
  Build after = build(100);
  before.site({before.frame("load", 9)}, 10 * kMiB);
  before.site({before.frame("load", 10)}, 20 * kMiB);
  after.site({after.frame("load", 30)}, 31 * kMiB);

  const Differences found = compare(before, after, DiffBy::function);

  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].name, "load");
  EXPECT_EQ(found.rows[0].change(), static_cast<std::int64_t>(kMiB));
}

// As sites --group function, and the same in both reports: three call it, but one alone after.
TEST(Diff, ByFunctionPassesOverWrappers) {
  Build before = build(100);
  Build after = build(100);
  for (const char* caller : {"read", "train", "write"}) {
    before.site({before.frame("take", 5), before.frame(caller, 30)}, 10 * kMiB);
  }
  after.site({after.frame("take", 5), after.frame("train", 30)}, 31 * kMiB);

  const Differences found = compare(before, after, DiffBy::function);

  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.rows[0].name, "train");
  EXPECT_EQ(found.rows[0].change(), static_cast<std::int64_t>(21 * kMiB));
  EXPECT_EQ(found.rows[1].name, "read");
  EXPECT_EQ(found.rows[2].name, "write");
}

TEST(Diff, InstancesOfATemplateAreFunctionsOfTheirOwn) {
  Build before = build(100);
  Build after = build(100);
  before.site({before.frame("void fill<float>(int)", 9)}, 10 * kMiB);
  before.site({before.frame("void fill<double>(int)", 9)}, 10 * kMiB);
  after.site({after.frame("void fill<float>(int)", 9)}, 10 * kMiB);
  after.site({after.frame("void fill<double>(int)", 9)}, 30 * kMiB);

  const Differences functions = compare(before, after, DiffBy::function);
  const Differences sites = compare(before, after);

  ASSERT_EQ(functions.rows.size(), 1u);
  EXPECT_EQ(functions.rows[0].name, "fill<double>");
  ASSERT_EQ(sites.rows.size(), 1u);
  EXPECT_EQ(sites.rows[0].frames(), std::vector<std::string>{"fill<double> (train.cpp:9)"});
}

TEST(Diff, AThresholdIsCrossedByOneRowOrByAll) {
  Build before = build(100);
  Build after = build(100);
  before.site({before.frame("a", 1)}, 10 * kMiB);
  before.site({before.frame("b", 2)}, 10 * kMiB);
  after.site({after.frame("a", 1)}, 13 * kMiB);
  after.site({after.frame("b", 2)}, 5 * kMiB);

  const Differences found = compare(before, after);

  EXPECT_TRUE(crosses(found, 3 * kMiB - 1));
  EXPECT_FALSE(crosses(found, 3 * kMiB));
  EXPECT_TRUE(crosses(compare(after, before), 3 * kMiB));  // b by 5 MiB, all by 2 MiB
}

// Of JSON: rows with both sides exchanged.
json mirrored(json rows) {
  for (json& row : rows) {
    std::swap(row["before"], row["after"]);
    row["change_bytes"] = -row["change_bytes"].get<std::int64_t>();
    const std::string what = row["what"];
    row["what"] = what == "new"     ? "gone"
                  : what == "gone"  ? "new"
                  : what == "grown" ? "shrunk"
                                    : "grown";
  }
  return rows;
}

TEST(Diff, OfRandomReportsIsTheSameFromBothSides) {
  constexpr int kRounds = 200;
  std::mt19937 random(4711);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  for (int round = 0; round < kRounds; ++round) {
    Build before = build(100);
    Build after = build(5000);
    for (Build* of : {&before, &after}) {
      for (int i = below(12); i >= 0; --i) {
        const std::string function = std::string("f") + std::to_string(below(4));
        const std::string file = std::string("/src/") + "ab"[below(2)] + ".cpp";
        of->site({of->frame(function, below(30), file), of->frame("main", below(3))},
                 static_cast<std::uint64_t>(below(50)) * kMiB);
      }
    }
    for (const DiffBy by : {DiffBy::site, DiffBy::kind, DiffBy::function}) {
      for (const DiffAt at : {DiffAt::peak, DiffAt::end, DiffAt::total}) {
        const json one = json::parse(diff_json(compare(before, after, by, at), {}));
        const json other = json::parse(diff_json(compare(after, before, by, at), {}));
        ASSERT_EQ(mirrored(one["rows"]), other["rows"]) << "round " << round;
        ASSERT_EQ(one["before_bytes"], other["after_bytes"]);
        ASSERT_EQ(one["matched_by_functions"], other["matched_by_functions"]);
        std::int64_t sum = 0;
        for (const json& row : one["rows"]) sum += row["change_bytes"].get<std::int64_t>();
        ASSERT_EQ(sum,
                  one["after_bytes"].get<std::int64_t>() - one["before_bytes"].get<std::int64_t>());
      }
    }
  }
}

}  // namespace
}  // namespace vramscope
