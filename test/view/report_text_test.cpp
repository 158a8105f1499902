// A report on one screen.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/report_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/text/stats_text.h"
#include "test/view/report_screen.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

TEST(ReportText, SaysOnceFromWhereTimesCount) {
  Report report = sample_report();
  report.timeline.start_ns = report.process.start_time_ns + 2'000'000'000;

  const std::string text = screen(report);

  EXPECT_TRUE(has(text, ", 10.0 s after the first call (time 0)\n")) << text;
  EXPECT_FALSE(has(text, ", after "));
}

TEST(ReportText, IsThisScreen) {
  setenv("TZ", "UTC", 1);

  EXPECT_EQ(screen(sample_report()), R"(train --epochs 3
  pid 4711 on node1, mode cache, CUDA 13.0, on the simulated device
  report 1, written at exit 1970-01-01 00:16:52 UTC, after 12.0 s

GPU 0  NVIDIA H200
  reserved   peak  1.00 GiB  [#.......................]  0.8 % of 128 GiB, now 1.00 GiB
  allocated  peak   768 MiB  [#.......................]  0.6 % of 128 GiB, now 4.00 MiB
  requested  peak   760 MiB  [#.......................]  0.6 % of 128 GiB, now 4.00 MiB
  1,000 allocations, 990 from the cache (99.0 %); the cache kept the memory of 998 frees: 1,988
    driver calls saved
  the cache saved 64.8 ms to 130 ms in 990 allocations (estimated);
    what the cache saved in 998 frees is not known

What made up the peak: GPU 0, 768 MiB
  REQUESTED   SHARE  COUNT  WHERE
    512 MiB  66.7 %      3  make_weights (train.cpp:42) < main (train.cpp:99)
    256 MiB  33.3 %      3  libnet.so+0x40 < main (train.cpp:99)
  pinned, 64.0 MiB:
   64.0 MiB   100 %      3  main (train.cpp:99)

Never freed: 4.00 MiB in 2 allocations
  REQUESTED  SHARE  COUNT  MEMORY  WHERE
   4.00 MiB  100 %      2  GPU 0   libnet.so+0x40 < main (train.cpp:99)

Host and other memory
  pinned      peak 64.0 MiB, now 0 B, 4 calls
  pinning took 2.00 ms in 4 calls (longest 900 us)

  Total: 1,004 allocations, 0 of 27 known ones temporary (0 %); allocating took 3.00 us,
    <0.1 % of the run's 12.0 s
  peak GPU 0 760 MiB, pinned 64.0 MiB (requested bytes); never freed: 4.00 MiB in 2 allocations

Next: vramscope peak r.json
)");
}

TEST(ReportText, OfARunningProgramDoesNotSpeakOfLeaks) {
  Report report = sample_report();
  report.trigger = "signal";

  EXPECT_TRUE(has(screen(report), "Not freed when the report was written: 4.00 MiB"));
  EXPECT_TRUE(has(screen(report), "written on a signal"));
}

TEST(ReportText, OfARecoveredReportSaysWhatEndedTheProgram) {
  Report report = sample_report();
  report.trigger = "recovered";
  EXPECT_TRUE(has(screen(report), "report 1, recovered; the process died; last call 1970"));

  report.process.ended_by = "SIGKILL";
  EXPECT_TRUE(has(screen(report),
                  "report 1, recovered; the process was killed by SIGKILL; last call 1970"));
  EXPECT_TRUE(has(screen(report), "Not freed when 4711 was killed by SIGKILL: 4.00 MiB"));

  report.trigger = "moving";
  report.process.ended_by.clear();
  EXPECT_TRUE(has(screen(report), "report 1, copied while the program ran 1970"));
  EXPECT_TRUE(has(screen(report), "Not freed when the report was written: 4.00 MiB"));
}

// All of one instant, unlike peaks.
TEST(ReportText, SharesOfWhatIsAliveAddUpOverAllKinds) {
  Report report = sample_report();
  SitePart& pinned = report.sites[2].parts[0];
  pinned.totals.live_bytes = std::uint64_t{12} << 20;
  pinned.totals.live_count = 1;

  const std::string text = screen(report);

  EXPECT_TRUE(has(text, "12.0 MiB  75.0 %      1  pinned  main")) << text;
  EXPECT_TRUE(has(text, "4.00 MiB  25.0 %      2  GPU 0   libnet")) << text;
}

TEST(ReportText, SharesOfAPeakStandBelowTheirMemoryHoweverTheyAreOrdered) {
  Report report = sample_report();
  report.sites[2].parts[0].totals.peak_bytes = std::uint64_t{400} << 20;

  const std::string text = screen(report);

  const std::size_t forward = text.find("256 MiB  33.3 %");
  const std::size_t pinned = text.find("\n  pinned, 400 MiB:\n");
  ASSERT_NE(forward, std::string::npos) << text;
  ASSERT_NE(pinned, std::string::npos) << text;
  EXPECT_LT(forward, pinned);
}

// "1 allocation, 0 % from the cache: 1 driver call saved" puzzled: it was the free.
TEST(ReportText, SaysWhichDriverCallsWereSaved) {
  Report report = sample_report();
  Timing& timing = report.devices[0].timing;
  timing.alloc_driver.count = 1;
  timing.alloc_hit = {};
  timing.free_hit.count = 1;
  report.devices[0].statistics.allocation.all.freed = 1;
  EXPECT_TRUE(has(screen(report),
                  "\n  1 allocation, none from the cache; the cache kept the memory of 1 free: 1 "
                  "driver call saved\n"));

  timing.free_hit.count = 0;
  EXPECT_TRUE(has(screen(report), "\n  1 allocation, none from the cache\n"));

  report.process.mode = "observe";
  EXPECT_TRUE(has(screen(report), "\n  1 allocation, by the driver\n"));
}

TEST(ReportText, CutsSitesAndSaysWhatIsLeftOut) {
  EXPECT_TRUE(
      has(screen(sample_report(), 1), "  and 2 more rows, GPU 0 256 MiB, pinned 64.0 MiB\n"));
}

// Seen on a terminal: bars and the sums of what stands above were kept, and rows were left out.
TEST(ReportText, WithoutRoomLosesWhatItRepeatsAndThenItsBars) {
  const auto text = [](Brevity brevity) {
    return screen(sample_report(), kReportSites, {.brevity = brevity});
  };

  EXPECT_TRUE(has(text(Brevity::no_details), "  Total: "));
  EXPECT_FALSE(has(text(Brevity::no_repeats), "  Total: "));
  EXPECT_TRUE(has(text(Brevity::no_repeats), "[#"));
  EXPECT_FALSE(has(text(Brevity::no_bars), "[#"));
  EXPECT_TRUE(has(text(Brevity::no_bars), "  reserved peak 1.00 GiB, now 1.00 GiB; allocated"));
}

// Seen of a report with four kinds: 32 MiB of pinned memory were shown, 100 MiB of the GPU's not.
TEST(ReportText, ASmallMemoryDoesNotHideALargerRow) {
  const std::string text = screen(sample_report(), 2);

  EXPECT_TRUE(has(text, "    256 MiB  33.3 %      3  libnet.so+0x40")) << text;
  EXPECT_TRUE(has(text, "  and 1 more row, pinned 64.0 MiB\n")) << text;
}

TEST(ReportText, OfAMergedReportCallsAreNoShareOfOneTime) {
  Report report = sample_report();
  report.processes.resize(2);

  const std::string text = screen(report);
  EXPECT_TRUE(has(text, "allocating took 3.00 us,\n    summed over all processes\n")) << text;
}

// Seen of eight threads: 164 % of the run.
TEST(ReportText, TimeOfSeveralThreadsIsNoShareOfTheRun) {
  Report report = sample_report();
  const auto thread = [](const char* name) {
    return AxisEntry{.axis = Axis::thread, .value = name, .totals = {.total_count = 1}};
  };
  report.axes = {thread("train 1"), thread("loader 2")};

  const std::string text = screen(report);
  EXPECT_TRUE(has(text, "; allocating took 3.00 us,\n    summed over 2 threads\n")) << text;

  report.axes = {thread("train 1")};
  EXPECT_TRUE(has(screen(report), " of the run's 12.0 s\n"));
}

TEST(ReportText, MoreTimeThanTheRunTookIsOfSeveralThreads) {
  Report report = sample_report();
  report.axes.clear();
  report.sites[0].parts[0].totals.total_ns = 13'000'000'000;

  const std::string text = screen(report);
  EXPECT_TRUE(has(text, ",\n    summed over all threads\n")) << text;
  EXPECT_FALSE(has(text, " of the run's "));
}

TEST(ReportText, ShowsOutOfMemoryAndWarnings) {
  Report report = sample_report();
  report.devices[0].statistics.num_ooms = 1;
  report.unrecorded_calls = 7;
  report.warnings = {"a", "b\033[0m", "c", "d"};

  const std::string text = screen(report);

  EXPECT_TRUE(has(text, "  out of memory once\n"));
  report.devices[0].statistics.num_alloc_retries = 2;
  EXPECT_TRUE(
      has(screen(report), "  out of memory once; Vramscope asked the driver again 2 times\n"));
  report.devices[0].statistics.num_ooms = 0;
  EXPECT_TRUE(has(screen(report), "  Vramscope asked the driver again 2 times\n"));
  report.unrecorded_calls = 0;
  EXPECT_TRUE(has(screen(report),
                  "  Vramscope asked the driver again 2 times, but its cache had no idle memory "
                  "to release\n"));
  report.oom.count = 2;  // that no device counts
  EXPECT_TRUE(has(screen(report), "  out of memory 2 times\n"));
  EXPECT_TRUE(has(text, "  warning: 7 calls went unrecorded\n"));
  EXPECT_TRUE(has(text, "  warning: b?[0m\n  and 2 more warnings\n"));
}

TEST(ReportText, OfAProgramWithoutAllocationsIsShort) {
  EXPECT_TRUE(has(screen(Report{}), "No device memory was allocated."));
}

TEST(ReportText, TellsWhatCachedPinnedMemorySaved) {
  Report report = sample_report();
  EXPECT_FALSE(has(screen(report), "pinned:"));

  report.host.timing.alloc_hit = {
      .count = 96, .total_ns = 9600, .min_ns = 100, .max_ns = 100, .histogram = {}};
  report.host.timing.alloc_driver = {
      .count = 10, .total_ns = 5'000'000, .min_ns = 0, .max_ns = 900'000, .histogram = {}};

  EXPECT_TRUE(has(screen(report),
                  "  pinned: 96 of 106 allocations from the cache; 10 driver calls took 5.00 ms;\n"
                  "    the cache saved about 48.0 ms in 96 allocations (estimated)\n"));
  EXPECT_TRUE(has(render(stats_text(report, {}, kPage), kPage), "  pinned: 96 of 106 allocations"));
}

TEST(ReportText, FitsOneScreen) {
  Report report = sample_report();
  report.devices[1] = report.devices[0];
  report.devices[1].facts.index = 1;
  for (int i = 0; i < 40; ++i) {
    report.sites.push_back(report.sites[1]);
    report.warnings.emplace_back(300, 'w');
  }
  for (const Kind kind : {Kind::registered, Kind::managed, Kind::stream_ordered}) {
    report.kinds.push_back(report.kinds[1]);
    report.kinds.back().kind = kind;
  }
  report.process.arguments.assign(200, "argument");

  const std::string text = screen(report);

  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 53);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, kPage.width) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(ReportText, AsJsonHasExactNumbers) {
  JsonText text;
  text.array();
  report_json(text, sample_report(), "r.json", sample_names(), 2);
  const auto read = nlohmann::json::parse(text.end().text())[0];

  EXPECT_EQ(read["file"], "r.json");
  EXPECT_EQ(read["process"]["arguments"][2], "3");
  EXPECT_EQ(read["devices"].size(), 1u);
  EXPECT_EQ(read["devices"][0]["reserved_peak_bytes"], 1 << 30);
  EXPECT_EQ(read["devices"][0]["estimated_saved_ns"], 990 * (65'536 - 100));
  EXPECT_EQ(read["peak"].size(), 2u);
  EXPECT_EQ(read["peak"][0]["called"], "cudaMalloc");
  EXPECT_EQ(read["peak"][0]["frames"][0], "make_weights (train.cpp:42)");
  EXPECT_EQ(read["live"][0]["bytes"], 4 << 20);
  EXPECT_EQ(read["ledger"][1]["kind"], "pinned");
}

}  // namespace
}  // namespace vramscope
