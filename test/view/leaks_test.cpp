// What was never freed, without what is suppressed.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leaks_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporter/view/text/leak_rows.h"
#include "reporter/view/text/report_text.h"
#include "test/view/made_leaks.h"
#include "test/view/made_stacks.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using nlohmann::json;

TEST(Leaks, LeadWhereTheyAreHalfOfThePeakAndNotMeantToStay) {
  const auto lead = [](std::uint64_t peak, std::vector<std::uint64_t> by_age) {
    Report report = report_of(5, 5, std::move(by_age));
    report.kinds[0].peak_bytes = peak * kMiB;
    return leaks_lead(report, leaked_of(report, {}).leaks);
  };
  EXPECT_TRUE(lead(10, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(lead(10, {0, 0, 0, 0, 5, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(lead(11, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0})) << "5 MiB of 11";
  EXPECT_FALSE(lead(10, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0})) << "perhaps kept on purpose";
  EXPECT_FALSE(lead(10, {0, 0, 0, 0, 0, 0, 0, 0, 0, 9})) << "perhaps in use";
  Report running = report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
  running.trigger = "signal";
  EXPECT_FALSE(leaks_lead(running, leaked_of(running, {}).leaks));
}

TEST(Leaks, TheReportOfAProgramThatLeaksLeadsToThem) {
  Report report = report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
  const auto next = [&] {
    const Leaked leaked = leaked_of(report, sample_names());
    return report_text({report, "r.json", leaked}, sample_names(), {}, 10).next()->words;
  };
  report.kinds[0].peak_bytes = 5 * kMiB;
  EXPECT_EQ(next(), "leaks");
  report.kinds[0].peak_bytes = 50 * kMiB;
  EXPECT_EQ(next(), "peak");
}

// "at this rate the device is full in": of what is free there, and what came between the first
// block and the last one.
TEST(Leaks, TellHowLongTheDeviceWillDo) {
  Report report = report_of(11, 11, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 2, 3, 4});
  Site& site = report.sites[0];
  site.live_turns = 11;
  site.live_first = 1;
  site.live_last = report.timeline.allocations = 22;
  site.live_span_ns = 60'000'000'000;  // 10 MiB a minute
  report.oom.events.clear();
  report.devices[0].facts.free_bytes = 1800 * kMiB;
  const auto text = [&] {
    const Leaks leaks = leaks_of(report, {}, sample_names());
    return render(leaks_text(report, leaks, {}, sample_names(), Page{}, {}), Page{});
  };
  const std::string full = "at this rate the device is full in ";
  EXPECT_NE(text().find("1.00 MiB every call of "), std::string::npos) << text();
  EXPECT_NE(text().find(full + "3 h"), std::string::npos) << text();
  report.devices[0].facts.limit_bytes = 1100 * kMiB;  // of which 500 MiB are taken
  report.ledger = {
      {.device = 0, .kind = "device", .owner = "program", .device_bytes = 20 * kMiB},
      {.device = 0, .kind = "unaccounted", .owner = "contexts", .device_bytes = 480 * kMiB},
      {.device = 0, .kind = "others", .owner = "others", .device_bytes = 9000 * kMiB}};
  EXPECT_NE(text().find(full + "1 h 00 min"), std::string::npos) << text();
  report.devices[0].facts.limit_bytes = 0;
  report.devices[0].facts.free_bytes = 0;
  EXPECT_EQ(text().find(full), std::string::npos) << "nobody knows what is free";
  report.devices[0].facts.free_bytes = 1800 * kMiB;
  site.live_span_ns = 0;
  EXPECT_EQ(text().find(full), std::string::npos) << "nobody knows how fast";
}

TEST(Leaks, KindsAreToldApart) {
  Report report = sample_report();
  report.sites[2].parts[0].totals.live_bytes = 8 * kMiB;
  report.sites[2].parts[0].totals.live_count = 1;

  const Leaks leaks = leaks_of(report, {}, sample_names());

  ASSERT_EQ(leaks.memory.size(), 2U);
  EXPECT_EQ(leaks.memory[0].kind, Kind::pinned);
  EXPECT_EQ(leaks.memory[0].bytes, 8 * kMiB);
  EXPECT_EQ(leaks.memory[1].kind, Kind::device);
  EXPECT_EQ(leaks.memory[1].count, 2U);
}

TEST(Leaks, SuppressionsAreListedWithWhatTheyLeftOut) {
  Suppressions list;
  ASSERT_EQ(list.add("leak:libnet", "my.supp"), "");
  const Report report = sample_report();

  const Leaks leaks = leaks_of(report, list, sample_names());

  EXPECT_TRUE(leaks.leaks.empty());
  ASSERT_EQ(leaks.suppressed.size(), 1U);
  EXPECT_EQ(leaks.suppressed[0].bytes, 4 * kMiB);
  EXPECT_EQ(leaks.suppressed[0].count, 2U);
  const std::string text =
      render(leaks_text(report, leaks, list, sample_names(), Page{}, {}), Page{});
  EXPECT_NE(text.find("Never freed: only "), text.npos);
  EXPECT_NE(text.find("    2  4.00 MiB  libnet  (my.supp:1)"), text.npos) << text;
}

TEST(Leaks, TheNextCommandSuppressesTheSame) {
  const Report report = report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
  const Leaks leaks = leaks_of(report, {}, sample_names());
  const std::string text = render(
      leaks_text(report, leaks, {}, sample_names(), Page{},
                 {.path = "r.json",
                  .suppressions = {{"--suppress", "my.supp"}, {"--no-default-suppressions", ""}}}),
      Page{});
  EXPECT_EQ(text.substr(text.rfind("Next: ")),
            "Next: vramscope leaks --full --suppress my.supp --no-default-suppressions r.json\n");
  const std::string without =
      render(leaks_text(report, Leaks(), {}, sample_names(), Page{},
                        {.path = "r.json", .suppressions = {{"--suppress", "my.supp"}}}),
             Page{});
  EXPECT_EQ(without.substr(without.rfind("Next: ")), "Next: vramscope peak r.json\n");
}

TEST(Leaks, PatternsThatLeftNothingOutAreNamedButNotThoseThatComeWithVramscope) {
  Suppressions list;
  ASSERT_EQ(list.add("leak:libnet\n\nleak:^old$", "my.supp"), "");
  list.add_usual();
  const Report report = sample_report();

  const Leaks leaks = leaks_of(report, list, sample_names());

  const std::string text =
      render(leaks_text(report, leaks, list, sample_names(), Page{}, {}), Page{});
  EXPECT_NE(text.find("\n  COUNT     BYTES  PATTERN\n"), text.npos) << text;
  EXPECT_NE(text.find("\nSuppressions that left nothing out: ^old$ (my.supp:3)\n"), text.npos);
  const auto read = json::parse(leaks_json(report, leaks, list, sample_names(), 0));
  EXPECT_EQ(read["unused_suppressions"],
            json::parse(R"([{"pattern": "^old$", "file": "my.supp", "line": 3}])"));
}

TEST(Leaks, BytesOfUnknownStacksAreToldOf) {
  Report report = sample_report();
  report.kinds[0].current_bytes += kMiB;

  EXPECT_EQ(leaks_of(report, {}, sample_names()).without_site, kMiB);
  EXPECT_EQ(leaks_of(sample_report(), {}, sample_names()).without_site, 0U);
}

TEST(Leaks, TheTextHasStacks) {
  const Report report = report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
  const Leaks leaks = leaks_of(report, {}, sample_names());

  EXPECT_EQ(
      render(leaks_text(report, leaks, {}, sample_names(), Page{}, {.path = "r.json"}), Page{}),
      "Never freed: 5.00 MiB in 5 allocations of 1 call site\n"
      "\n"
      "Grows: allocated again and again over the run, and kept\n"
      "  5.00 MiB in 5 of 5 allocations, GPU 0, cudaMalloc,\n"
      "    allocated in 5 of 10 equal parts of the run (measured in allocations)\n"
      "      make_weights (train.cpp:42)\n"
      "      main (train.cpp:99)\n"
      "\n"
      "Next: vramscope leaks --full r.json\n");
  const std::string full =
      render(leaks_text(report, leaks, {}, sample_names(), Page{}, {.whole_stacks = true}), Page{});
  EXPECT_NE(
      full.find("      make_weights(int, float)\n        at /src/train.cpp:42 in /app/train\n"),
      full.npos)
      << full;
}

// Seen of 20,000 sites of one line: `report` lists sites.
TEST(Leaks, ThePlacesOfSeveralSitesSayOfHowMany) {
  Report report = report_of(5, 5, {1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
  report.sites[0].numbers = {0, 3, 4};
  const Leaks leaks = leaks_of(report, {}, sample_names());

  const std::string text =
      render(leaks_text(report, leaks, {}, sample_names(), Page{}, {.path = "r.json"}), Page{});

  EXPECT_TRUE(
      text.starts_with("Never freed: 5.00 MiB in 5 allocations of 3 call sites, shown as 1 row\n"))
      << text;
}

TEST(Leaks, TheJsonHasEachLeak) {
  const Report report = sample_report();

  const json read =
      json::parse(leaks_json(report, leaks_of(report, {}, sample_names()), {}, sample_names(), 0));

  EXPECT_EQ(read["final"], true);
  EXPECT_EQ(read["memory"][0]["kind"], "device");
  EXPECT_EQ(read["leaks"][0]["site"], 1);
  EXPECT_EQ(read["leaks"][0]["class"], "left");
  EXPECT_EQ(read["leaks"][0]["bytes"], 4 * kMiB);
  EXPECT_EQ(read["leaks"][0]["frames"][1], "main (train.cpp:99)");
}

TEST(LeakRows, WhatTheDeadAloneHeldStandsBelowTheLeaks) {
  ProcessFacts process;
  process.pid = 11;
  const LeakHolder ended{.process = &process, .bytes = kMiB, .count = 1};
  LeakHolder killed{.process = &process, .bytes = 64 * kMiB, .count = 1};
  killed.death = "killed";
  const auto row = [](const char* function, std::vector<LeakHolder> holders) {
    return LeakRow{.memory = "GPU 0",
                   .callers = named({function}),
                   .looks = LeakClass::left,
                   .bytes = holders.front().bytes,
                   .count = 1,
                   .holders = std::move(holders)};
  };

  const std::string text = render(
      leak_rows_text({row("cache", {killed}), row("metric", {ended}), row("both", {killed, ended})},
                     2, Page{}, 0),
      Page{});

  const std::size_t remark =
      text.find("\n\n  64.0 MiB only in processes that did not end by themselves: ");
  ASSERT_NE(remark, text.npos) << text;
  EXPECT_LT(text.find("both"), text.find("metric"));
  EXPECT_LT(text.find("metric"), remark);
  EXPECT_GT(text.find("cache"), remark);
  EXPECT_EQ(
      render(leak_rows_text({row("metric", {ended})}, 2, Page{}, 0), Page{}).find("did not end"),
      text.npos);
}

// Seen of forked processes: COUNT, MOST and CLASS were left out beside a stack that was cut.
TEST(LeakRows, WhereStandsBelowBeforeAColumnIsLeftOut) {
  ProcessFacts process;
  process.pid = 30500;
  const LeakRow row{.memory = "GPU 0",
                    .callers = named({"work.malloc (train.py:7)", "work.log_loss (train.py:13)"}),
                    .looks = LeakClass::grows,
                    .bytes = 182 * kMiB,
                    .count = 91,
                    .holders = {{.process = &process, .bytes = 24 * kMiB, .count = 12}}};

  const std::string text =
      render(leak_rows_text({row}, 8, Page{.width = 80}, 0), Page{.width = 80});

  EXPECT_NE(
      text.find("  grows  GPU 0\n    work.malloc (train.py:7) < work.log_loss (train.py:13)\n"),
      text.npos)
      << text;
  EXPECT_EQ(text.find("No room for"), text.npos) << text;
}

}  // namespace
}  // namespace vramscope
