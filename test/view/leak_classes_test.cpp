// What was never freed, apart by when it was allocated: what grows, is left, late or kept.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reporter/record/mark_rows.h"
#include "reporter/report/ages.h"
#include "reporter/view/text/leaks_text.h"
#include "reporter/view/text/words.h"
#include "test/view/made_leaks.h"

namespace vramscope {
namespace {

LeakClass class_of(const Report& report, const NameFrame& name = sample_names()) {
  const Leaks leaks = leaks_of(report, {}, name);
  EXPECT_EQ(leaks.leaks.size(), 1U);
  return leaks.leaks.at(0).looks;
}

TEST(Leaks, WhatIsAllocatedAgainAndAgainGrows) {
  EXPECT_EQ(class_of(report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0})), LeakClass::grows);
  EXPECT_EQ(class_of(report_of(5, 50, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0}, {1, 2, 3, 4})),
            LeakClass::grows);
}

TEST(Leaks, WhatIsReplacedAllTheTimeDoesNotGrow) {
  EXPECT_EQ(class_of(report_of(5, 50, {0, 0, 0, 0, 0, 1, 1, 1, 1, 1},
                               {5 * kMiB, 5 * kMiB, 5 * kMiB, 5 * kMiB})),
            LeakClass::left);
}

// Its report once called it Left, and its trace, which ends with the last call, Grows.
TEST(Leaks, WhatGrewBeforeALongEndGrows) {
  Report report =
      report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0}, {5 * kMiB, 5 * kMiB, 5 * kMiB, 5 * kMiB});
  report.timeline.past_interval_ns = 4 << 20;
  report.timeline.series = {{.bucket_ns = 1 << 16, .highest = std::vector<std::uint64_t>(60)}};
  EXPECT_EQ(class_of(report), LeakClass::grows) << "at work for less than an interval";
  report.timeline.series[0].highest.resize(256);
  EXPECT_EQ(class_of(report), LeakClass::left) << "it was all there after the first of three";
}

TEST(Leaks, WhatWasFilledInTheFirstHalfDoesNotGrow) {
  const std::vector<std::uint64_t> by_age = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  constexpr std::uint64_t kAll = 4 * kMiB;
  EXPECT_EQ(class_of(report_of(4, 4, by_age, {kMiB, 3 * kMiB, kAll, kAll, kAll, kAll})),
            LeakClass::left);
  EXPECT_EQ(class_of(report_of(4, 4, by_age, {kMiB, kMiB, 3 * kMiB, 3 * kMiB, kAll, kAll})),
            LeakClass::grows);
}

TEST(Leaks, WhatIsFreedAndAllocatedAnewLargerEachTimeGrows) {
  const std::vector<std::uint64_t> by_age = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(class_of(report_of(1, 9, by_age, {kMiB / 4, kMiB / 2, kMiB / 2, kMiB * 3 / 4})),
            LeakClass::grows);
  EXPECT_EQ(class_of(report_of(1, 9, by_age, {kMiB, kMiB, kMiB, kMiB})), LeakClass::late);
}

TEST(Leaks, WhatCameOnceAtTheBeginningMayBeKept) {
  EXPECT_EQ(class_of(report_of(1, 1, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0})), LeakClass::kept);
  EXPECT_EQ(class_of(report_of(4, 4, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0})), LeakClass::kept);
  EXPECT_EQ(class_of(report_of(1, 2, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0})), LeakClass::left)
      << "its place freed others";
}

// Of processes that hold so many allocations of site 0 each.
Report merged_report_of(const std::vector<std::uint64_t>& counts, std::uint64_t ever,
                        std::vector<std::uint64_t> by_age) {
  std::uint64_t count = 0;
  for (const std::uint64_t one : counts) count += one;
  Report report = report_of(count, ever, std::move(by_age));
  const SitePart& part = report.sites[0].parts[0];
  for (const std::uint64_t one : counts) {
    MergedProcess process;
    process.process = report.process;
    process.trigger = "exit";
    if (one != 0) {
      process.live.push_back({.site = 0,
                              .kind = part.kind,
                              .device = part.device,
                              .live_bytes = one * kMiB,
                              .live_count = one});
    }
    report.processes.push_back(std::move(process));
  }
  return report;
}

// Seen of ranks of which one was killed: merged, what it held was said to be left amid the run.
TEST(Leaks, OfMergedReportsTheOthersAllocationsDoNotChangeWhatAPlaceLooksLike) {
  const std::vector<std::uint64_t> beginning = {9, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<std::uint64_t> apart = {1, 1, 1, 0, 0, 0, 0, 0, 0, 0};

  EXPECT_EQ(class_of(merged_report_of({0, 1, 0}, 3, beginning)), LeakClass::kept);
  EXPECT_EQ(class_of(merged_report_of({0, 1, 0}, 4, beginning)), LeakClass::left)
      << "one allocated there twice";
  EXPECT_EQ(class_of(merged_report_of({1, 1, 1}, 3, apart)), LeakClass::left)
      << "each allocated once, in its own tenth";
  EXPECT_EQ(class_of(merged_report_of({3, 0, 0}, 3, apart)), LeakClass::grows);
  const auto says_so = [](const Report& report) {
    const Leaks leaks = leaks_of(report, {}, sample_names());
    const std::string text = render(
        leaks_text(report, leaks, {}, sample_names(), Page{.width = 500}, {.whole_stacks = true}),
        Page{.width = 500});
    return text.find("; whether one process allocated there again, only its own report tells\n") !=
           text.npos;
  };
  EXPECT_TRUE(says_so(merged_report_of({0, 1, 0}, 3, beginning)));
  EXPECT_FALSE(says_so(merged_report_of({0, 1, 0}, 1, beginning)));
}

// Two processes that each allocated in two tenths of their runs "grew" over three.
TEST(Leaks, OfMergedReportsTenthsOfDifferentRunsAreNotAdded) {
  const std::vector<std::uint64_t> apart = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  Report report = merged_report_of({3, 3, 0}, 6, apart);
  const auto set_tenths = [&](std::uint64_t one, std::uint64_t other) {
    report.processes[0].live[0].tenths = one;
    report.processes[1].live[0].tenths = other;
  };

  EXPECT_EQ(class_of(report), LeakClass::left) << "whose the tenths are is not known";
  set_tenths(2, 2);
  EXPECT_EQ(class_of(report), LeakClass::left);
  set_tenths(2, 3);
  EXPECT_EQ(class_of(report), LeakClass::grows);
}

TEST(Leaks, WhatAnInitialiserAllocatedMayBeKept) {
  const NameFrame names = [](const Report&, const FrameFact& frame) -> std::vector<SourceFrame> {
    if (frame.offset == 0x30) return {{"_GLOBAL__sub_I_cache", "cache.cpp", 9}};
    return {{"make", "cache.cpp", 4}};
  };

  EXPECT_EQ(class_of(report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0}), names), LeakClass::kept);
}

TEST(Leaks, WhatCameInTheLastTenthMayBeInUse) {
  EXPECT_EQ(class_of(report_of(3, 90, {0, 0, 0, 0, 0, 0, 0, 0, 0, 9})), LeakClass::late);
}

TEST(Leaks, AReportThatDoesNotTellAgesHasThemLeft) {
  EXPECT_EQ(class_of(report_of(3, 3, {})), LeakClass::left);
}

// A program that allocates and frees as its place says; the time between calls is the run's own.
struct Program {
  explicit Program(std::uint64_t pause_ns) : pause_ns(pause_ns) {}

  void keep(Tag site, std::uint64_t bytes) {
    now_ns += pause_ns * (1 + memory.allocations % 7);
    memory.blocks.push_back({.requested_size = bytes,
                             .tag = site,
                             .state = BlockState::active_allocated,
                             .born_ns = now_ns,
                             .born = ++memory.allocations});
    SiteTotals& totals = sites[static_cast<std::size_t>(site_of_tag[site])].totals;
    totals.live_bytes += bytes;
    ++totals.live_count;
    ++totals.total_count;
  }
  void mark(const char* name) { marks.count(++now_ns, "", name); }
  void use(Tag site) {
    ++memory.allocations;
    ++sites[site].totals.total_count;
    now_ns += pause_ns;
  }
  // "grows 2.00 MiB every call, kept".
  std::string classes() {
    ReportParts parts;
    parts.memory = memory;
    parts.recorder.ranges = ranges;
    parts.recorder.repeated_marks = marks.facts(kLeastPasses);
    for (const std::uint32_t range : range_of_tag) {
      TagFact& tag = parts.recorder.tags.own().emplace_back();
      tag.values[static_cast<std::size_t>(Axis::range)] = range;
    }
    add_ages(parts, site_of_tag, sites);
    Report report = sample_report();
    report.timeline.allocations = memory.allocations;
    report.sites = sites;
    for (Site& site : report.sites) site.parts = {{.kind = Kind::device, .totals = site.totals}};
    std::string text;
    for (const Leak& leak : leaks_of(report, {}, sample_names()).leaks) {
      text += (text.empty() ? "" : ", ") +
              std::string(kLeakClassNames[static_cast<std::size_t>(leak.looks)]);
      if (const auto rate = growth_rate(report, leak)) text += " " + rate_text(*rate);
    }
    return text;
  }

  std::uint64_t pause_ns;
  std::uint64_t now_ns = 1;
  Snapshot memory = {};
  std::vector<Site> sites = std::vector<Site>(3);
  std::vector<RangeFact> ranges = {};
  MarkRows marks = {};
  std::vector<std::uint32_t> range_of_tag = {};
  std::vector<std::int64_t> site_of_tag = {0, 1, 2};
};

// By tenths of time a slow run had other classes, and a model was a leak where it was all.
TEST(Leaks, GrowInAPartOfTheRunThatRepeatsWhateverItsSpeed) {
  for (const std::uint64_t pause_ns : {1ULL, 1'000'000'000ULL}) {
    Program leak(pause_ns), weights(pause_ns), row(pause_ns), rare(pause_ns), staged(pause_ns);
    for (int i = 0; i < 4; ++i) leak.keep(0, 10 * kMiB);
    for (int i = 0; i < 400; ++i) leak.keep(1, 2 * kMiB), leak.use(2);
    for (int i = 0; i < 100; ++i) weights.keep(0, 9 * kMiB), row.keep(0, 9 * kMiB);
    for (int i = 0; i < 20; ++i) weights.use(1);
    for (int i = 0; i < 600; ++i) i % 5 == 0 ? rare.keep(0, 8 * kMiB) : rare.use(0);
    for (int i = 0; i < 30; ++i) staged.use(1), staged.keep(0, 30 * kMiB);
    for (int i = 0; i < 60; ++i) staged.use(2);

    EXPECT_EQ(leak.classes(), "grows 2.00 MiB every call, kept");
    EXPECT_EQ(weights.classes(), "left");
    EXPECT_EQ(row.classes(), "left") << "nothing tells";
    EXPECT_EQ(rare.classes(), "grows 8.00 MiB every 5 calls");
    EXPECT_EQ(staged.classes(), "left") << "held since it was loaded";
  }
}

// Of a row of blocks nothing tells, unless the program names the part of it that repeats.
TEST(Leaks, GrowInANamedRangeThatRepeats) {
  Program row(1), place_of_both(1);
  place_of_both.site_of_tag = {0, 1, 1};
  for (int i = 0; i < 90; ++i) {
    row.keep(1 + static_cast<Tag>(i % 2), 4 * kMiB);
    place_of_both.keep(1 + static_cast<Tag>(i % 2), 4 * kMiB);
  }
  const auto entered = [](Program& program, std::uint64_t steps) {
    program.range_of_tag = {0, 3, 4};
    program.ranges = {{},
                      {.parent = 0, .domain = "", .name = "epoch", .entered = 1},
                      {.parent = 1, .domain = "", .name = "step", .entered = steps},
                      {.parent = 2, .domain = "net", .name = "forward", .entered = steps},
                      {.parent = 2, .domain = "", .name = "backward", .entered = steps}};
    return program.classes();
  };
  const std::string two = "grows 4.00 MiB every pass of epoch/step/";
  EXPECT_EQ(entered(row, 45), two + "net:forward, " + two + "backward");
  EXPECT_EQ(entered(row, 1), "left, left");
  EXPECT_TRUE(entered(row, 15).starts_with("grows 12.0 MiB every pass of epoch/step/net:forward"));
  EXPECT_TRUE(entered(row, 450).starts_with("grows 4.00 MiB every 10 passes of epoch/"));

  EXPECT_EQ(entered(place_of_both, 45), "grows 8.00 MiB every pass of epoch/step");

  for (int i = 0; i < 800; ++i) row.use(0);
  EXPECT_TRUE(entered(row, 45).starts_with("left")) << "it stopped long before the end";
}

// As by ranges, but of a program that only says when a pass begins, or ends.
TEST(Leaks, GrowBetweenMarksThatRepeat) {
  for (const int steps : {3, 30, 3000}) {
    Program at_begin(1), at_end(1), in_epochs(1), each_epoch(1), loaded(1), ended(1);
    for (Program* const one : {&at_begin, &at_end}) {
      one->keep(0, 9 * kMiB);
      for (int i = 0; i < steps; ++i) {
        if (one == &at_begin) one->mark("step");
        one->keep(1, 4 * kMiB);
        if (one == &at_end) one->mark("step");
      }
    }
    for (int i = 0; i < 10 * steps; ++i) {
      for (Program* const one : {&in_epochs, &each_epoch}) {
        if (i % 10 == 0) one->mark("epoch");
        one->mark("step");
        if (one == &in_epochs || i % 10 == 0) one->keep(1, 4 * kMiB);
      }
    }
    for (int i = 0; i < steps; ++i) loaded.mark("step"), ended.keep(1, 4 * kMiB);
    for (int i = 0; i < steps; ++i) loaded.keep(1, 4 * kMiB), ended.mark("step");

    EXPECT_EQ(at_begin.classes(), "grows 4.00 MiB every mark 'step', kept");
    EXPECT_EQ(at_end.classes(), "grows 4.00 MiB every mark 'step', kept");
    EXPECT_EQ(in_epochs.classes(), "grows 4.00 MiB every mark 'step'");
    EXPECT_EQ(each_epoch.classes(), "grows 4.00 MiB every mark 'epoch'");
    EXPECT_EQ(loaded.classes(), "left") << "all came in the last pass";
    EXPECT_EQ(ended.classes(), "left") << "all came before the first";

    at_begin.range_of_tag = {0, 1, 1};
    at_begin.ranges = {{}, {.parent = 0, .domain = "", .name = "train", .entered = 1}};
    EXPECT_EQ(at_begin.classes(), "grows 4.00 MiB every mark 'step', kept") << "it does not repeat";
    at_begin.ranges[1].entered = 3;
    EXPECT_TRUE(at_begin.classes().ends_with(" pass of train, kept")) << "ranges count first";
  }
}

}  // namespace
}  // namespace vramscope
