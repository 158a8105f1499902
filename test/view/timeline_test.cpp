// How memory over time is drawn: curves, axes, marks, and windows of a run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reporter/view/text/filter.h"
#include "reporter/view/text/timeline_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMs = 1'000'000;

// 6 ms: three buckets of 1 ms, and twelve of half of that.
Report two_curves() {
  Report report = sample_report();
  report.kinds[0].peak_ns = 1'200'000;
  report.kinds[1].peak_ns = 0;
  report.timeline = {.start_ns = 0,
                     .duration_ns = 6 * kMs,
                     .series = {{.kind = Kind::device,
                                 .bucket_ns = kMs,
                                 .highest = {0, 760 * kMiB, 760 * kMiB},
                                 .last = {0, 760 * kMiB, 380 * kMiB}},
                                {.kind = Kind::pinned,
                                 .bucket_ns = kMs / 2,
                                 .highest = std::vector<std::uint64_t>(12, 64 * kMiB),
                                 .last = std::vector<std::uint64_t>(12, 64 * kMiB)}}};
  return report;
}

// Phases of 4 and 8 MiB beside a spike of 4 GiB.
Report spike() {
  Report report = two_curves();
  std::vector<std::uint64_t> values(60, 4 * kMiB);
  for (std::size_t i = 20; i < 40; ++i) values[i] = 8 * kMiB;
  values[30] = 4096 * kMiB;
  report.kinds = {};
  report.timeline = {.duration_ns = 60 * kMs,
                     .series = {{.bucket_ns = kMs, .highest = values, .last = values}}};
  return report;
}

std::string text_of(const Report& report, const Page& page = {.width = 60},
                    const TimelineLook& look = {.lines = 16}, const TimelineChoice& choice = {}) {
  return timeline_text(run_timeline(report, choice), look, page);
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(Timeline, IsReadAtSixtyColumns) {
  EXPECT_EQ(text_of(two_curves()), R"(6.00 ms, requested bytes
GPU 0: at most 760 MiB, 380 MiB at the end (linear scale)
   768 MiB |       #################
   576 MiB |       #################
   384 MiB |       ########################################
   192 MiB |       ########################################
pinned: at most 64.0 MiB, 64.0 MiB at the end (linear scale)
  64.0 MiB |###############################################
  48.0 MiB |###############################################
  32.0 MiB |###############################################
  16.0 MiB |###############################################
           ++--------------+---------------+---------------
            0 s            2 ms            4 ms
     marks  ^        ^
  ^ 0 ns: peak of pinned, 64.0 MiB
  ^ 1.20 ms: peak of GPU 0, 760 MiB
  one value in 1.00 ms; run --trace has all
)");
}

TEST(Timeline, UsesBlocksAndEightyColumns) {
  EXPECT_EQ(text_of(two_curves(), {.width = 80, .unicode = true}), R"(6.00 ms, requested bytes
GPU 0: at most 760 MiB, 380 MiB at the end (linear scale)
   768 MiB ┤           ███████████████████████
   576 MiB ┤           ███████████████████████
   384 MiB ┤           ████████████████████████████████████████████████████████
   192 MiB ┤           ████████████████████████████████████████████████████████
pinned: at most 64.0 MiB, 64.0 MiB at the end (linear scale)
  64.0 MiB ┤███████████████████████████████████████████████████████████████████
  48.0 MiB ┤███████████████████████████████████████████████████████████████████
  32.0 MiB ┤███████████████████████████████████████████████████████████████████
  16.0 MiB ┤███████████████████████████████████████████████████████████████████
           └┬─────────────────────┬─────────────────────┬──────────────────────
            0 s                   2 ms                  4 ms
     marks  ^            ^
  ^ 0 ns: peak of pinned, 64.0 MiB
  ^ 1.20 ms: peak of GPU 0, 760 MiB
  one value in 1.00 ms; run --trace has all
)");
}

TEST(Timeline, UsesTwoHundredColumns) {
  EXPECT_EQ(text_of(spike(), {.width = 200, .unicode = true}, {.lines = 12}),
            R"(60.0 ms, requested bytes
GPU 0: at most 4.00 GiB, 4.00 MiB at the end (log scale)
  4.00 GiB ┤                                                                                             ████
   512 MiB ┤                                                                                             ████
  64.0 MiB ┤                                                                                             ████
  8.00 MiB ┤▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅███████████████████████████████████████████████████████████████▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅
           └┬──────────────┬───────────────┬──────────────┬───────────────┬──────────────┬───────────────┬───────────────┬──────────────┬───────────────┬──────────────┬───────────────┬───────────────
            0 s            5 ms            10 ms          15 ms           20 ms          25 ms           30 ms           35 ms          40 ms           45 ms          50 ms           55 ms
  a log scale, for on a linear one most would be flat: --scale linear
)");
}

TEST(Timeline, ChoosesALogScaleWhereASpikeHidesThePhases) {
  const std::string chosen = text_of(spike());
  const std::string linear = text_of(spike(), {.width = 60}, {.scale = Scale::linear});

  EXPECT_TRUE(has(chosen, "a log scale, for on a linear one most would be flat")) << chosen;
  EXPECT_TRUE(has(linear, "(linear scale)")) << linear;
  EXPECT_TRUE(has(text_of(two_curves()), "(linear scale)"));
  EXPECT_TRUE(has(text_of(two_curves(), {.width = 60}, {.scale = Scale::log}), "(log scale)\n"));
}

TEST(Timeline, ShowsAWindowWithItsOwnHeightAndMarks) {
  const TimelineChoice choice{.from_ns = 2 * kMs, .to_ns = 4 * kMs};
  Report report = two_curves();
  report.oom = sample_refusals();
  report.oom.events[0].time_ns = 3 * kMs;
  filter_report(report, {.kind = "device"}, {.subject = Subject::curves}, {});

  const RunTimeline window = run_timeline(report, choice);
  const std::string text = timeline_text(window, {}, {.width = 60});

  ASSERT_EQ(window.curves.size(), 1U);
  ASSERT_EQ(window.marks.size(), 1U);  // the peak was before
  EXPECT_TRUE(has(text, "shown from 2.00 ms to 4.00 ms")) << text;
  EXPECT_TRUE(has(text, "GPU 0: at most 760 MiB, 380 MiB at the end")) << text;
  EXPECT_TRUE(has(text, "! 3.00 ms: 300 MiB of GPU 0 refused")) << text;
  EXPECT_TRUE(has(text, "one value in 1.00 ms; run --trace has all")) << text;
  EXPECT_FALSE(has(text, "pinned"));
}

TEST(Timeline, LeavesOutOtherDevicesAndCurvesThatAreTooMany) {
  Report others = two_curves();
  filter_report(others, {.device = 1}, {.subject = Subject::curves}, {});
  EXPECT_TRUE(run_timeline(others, {}).curves.empty());
  EXPECT_TRUE(has(text_of(two_curves(), {.width = 60}, {.most = 1}), "and 1 more curve: -n 0"));
  EXPECT_TRUE(has(text_of(Report{}), "Nothing was allocated.\n"));
}

TEST(Timeline, AsJsonHasBucketsAndMarks) {
  const json shown = json::parse(timeline_json(run_timeline(two_curves(), {}), 0));

  EXPECT_EQ(shown["duration_ns"], 6 * kMs);
  EXPECT_EQ(shown["series"][0]["kind"], "device");
  EXPECT_EQ(shown["series"][0]["highest_bytes"],
            (std::vector<std::uint64_t>{0, 760 * kMiB, 760 * kMiB}));
  EXPECT_EQ(shown["marks"][1]["what"], "peak");
  EXPECT_EQ(shown["marks"][1]["at_ns"], 1'200'000);
}

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
