// How memory over time is drawn: curves, axes, marks, and windows of a run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "reporter/report/trigger.h"
#include "reporter/view/analysis/filter/filter.h"
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
  return render(timeline_text(run_timeline(report, choice), look, page), page);
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

// A log scale was chosen wherever most was low, also where it was the same all the time, or high
// enough to be seen: weights below one step that takes much.
TEST(Timeline, KeepsTheLinearScaleWhereASpikeHidesNothing) {
  Report report = spike();
  std::vector<std::uint64_t>& values = report.timeline.series[0].highest;
  const auto has_scale = [&](const char* scale) { return has(text_of(report), scale); };
  for (std::uint64_t& value : values) value = value < kMiB * 9 ? 4 * kMiB : value;
  EXPECT_TRUE(has_scale("(linear scale)")) << "one height below the spike";
  values[0] = kMiB / 2;
  EXPECT_TRUE(has_scale("(linear scale)")) << "until it was loaded";
  for (std::size_t i = 20; i < 30; ++i) values[i] = 300 * kMiB;
  EXPECT_TRUE(has_scale("(linear scale)")) << "the phases are seen";
  for (std::size_t i = 20; i < 30; ++i) values[i] = 64 * kMiB;
  EXPECT_TRUE(has_scale("(log scale)"));
}

TEST(Timeline, ShowsAWindowWithItsOwnHeightAndMarks) {
  const TimelineChoice choice{.from_ns = 2 * kMs, .to_ns = 4 * kMs};
  Report report = two_curves();
  report.oom = sample_refusals();
  report.oom.events[0].time_ns = 3 * kMs;
  filter_report(report, {.kind = "device"}, {.subject = Subject::curves}, {});

  const RunTimeline window = run_timeline(report, choice);
  const std::string text = render(timeline_text(window, {}, {.width = 60}), {.width = 60});

  ASSERT_EQ(window.curves.size(), 1U);
  ASSERT_EQ(window.marks.size(), 1U);  // the peak was before
  const RunCurve& curve = window.curves[0];
  EXPECT_EQ(curve.first_ns, choice.from_ns);
  EXPECT_LE(curve.first_ns + curve.highest.size() * curve.bucket_ns, choice.to_ns);
  EXPECT_EQ(curve.last.size(), curve.highest.size());
  EXPECT_TRUE(has(text, "shown from 2.00 ms to 4.00 ms")) << text;
  EXPECT_TRUE(has(text, "GPU 0: at most 760 MiB, 380 MiB at 4.00 ms")) << text;
  EXPECT_TRUE(has(text, "! 3.00 ms: 300 MiB of GPU 0 refused")) << text;
  EXPECT_TRUE(has(text, "one value in 1.00 ms; run --trace has all")) << text;
  EXPECT_FALSE(has(text, "pinned"));
}

TEST(Timeline, OfSeveralProcessesSaysWhoWasRefusedAndWhoDied) {
  Report report = two_curves();
  MergedProcess refused;
  refused.process = report.process;
  refused.trigger = "exit";
  refused.timeline = report.timeline;
  refused.process.rank = 1;
  refused.process.pid = 4712;
  refused.timeline.start_ns = kMs;
  refused.oom = sample_refusals();
  refused.oom.events.resize(1);
  refused.oom.events[0].time_ns = 2 * kMs;
  MergedProcess killed = refused;
  killed.oom = {};
  killed.process.rank = 2;
  killed.process.ended_by = "SIGKILL";
  killed.trigger = word_of(Trigger::recovered);
  killed.timeline.duration_ns = 4 * kMs;
  report.timeline.series[0].highest[1] = 0;  // each curve has a peak, and two events follow
  report.processes = {refused, killed};

  const std::string text = text_of(report);
  const json shown = json::parse(timeline_json(run_timeline(report, {}), 0));

  EXPECT_TRUE(has(text, "! 3.00 ms: 300 MiB of GPU 0 refused, rank 1 (4712), ")) << text;
  EXPECT_TRUE(has(text, "X 5.00 ms: rank 2 (4712) was killed by SIGKILL")) << text;
  EXPECT_EQ(shown["marks"].back()["what"], "ended");
  EXPECT_EQ(shown["marks"].back()["at_ns"], 5 * kMs);
  EXPECT_EQ(shown["marks"].back()["process_ns"], 4 * kMs);
  const std::string whole = text_of(report, {.width = 100});
  EXPECT_TRUE(has(whole, "rank 1 (4712), 2.00 ms after its process began\n")) << whole;
  EXPECT_TRUE(has(whole, "killed by SIGKILL, then or later, 4.00 ms after its process began\n"))
      << whole;
}

TEST(Timeline, DrawsMarksOfTheProgramWithNamesAndTimes) {
  Report report = two_curves();
  report.range_marks = 6;
  report.marks = {{0, "begin"}, {2 * kMs, "a name too long"}, {3 * kMs, "x"}, {3 * kMs, "epoch"}};

  const std::string text = text_of(report);

  EXPECT_TRUE(has(text,
                  "     named  |begin         |a na.. |epoch\n"
                  "  | 0 ns: begin, 2.00 ms: a name too long, 3.00 ms: x,\n"
                  "    3.00 ms: epoch; 2 marks of the program of which the time\n"
                  "    was not kept\n"))
      << text;
}

TEST(Timeline, TellsMarksThatAWindowHasAndTheNumberOfFurtherOnes) {
  Report report = two_curves();
  for (std::uint64_t i = 0; i < 40; ++i) report.marks.push_back({i * kMs / 10, "m"});
  report.range_marks = 40;

  const TimelineChoice second{.from_ns = kMs, .to_ns = 2 * kMs};
  const std::string text = text_of(report, {.width = 200}, {.lines = 16}, second);
  const json window = json::parse(timeline_json(run_timeline(report, second), 0));

  EXPECT_TRUE(has(text, "| 1.00 ms: m, 1.10 ms: m, ")) << text;
  EXPECT_TRUE(has(text, "1.70 ms: m, and 3 more marks (--json)\n")) << text;
  EXPECT_EQ(window["named"].size(), 11u);
  EXPECT_EQ(window["named"][0], (json{{"at_ns", kMs}, {"name", "m"}}));
  EXPECT_EQ(window["unnamed_marks"], 0);
}

TEST(Timeline, LeavesOutOtherDevicesAndCurvesThatAreTooMany) {
  Report others = two_curves();
  filter_report(others, {.device = 1}, {.subject = Subject::curves}, {});
  EXPECT_TRUE(run_timeline(others, {}).curves.empty());
  EXPECT_TRUE(has(text_of(two_curves(), {.width = 60}, {.most = 1}), "and 1 more curve: -n 0"));
  EXPECT_TRUE(has(text_of(Report{}), "Nothing was allocated.\n"));
}

// 6 ms in which `two_curves` have managed memory as well.
Report two_kinds_of_a_device() {
  Report report = two_curves();
  report.timeline.series[1].kind = Kind::managed;
  for (std::size_t i = 0; i < 11; ++i) {  // two phases, hidden by the third
    report.timeline.series[1].highest[i] = (i < 5 ? 1 : 20) * kMiB;
  }
  report.timeline.series[1].highest[11] = 500 * kMiB;
  report.kinds[1].kind = Kind::managed;
  return report;
}

TEST(Timeline, OfADeviceWithSeveralKindsBeginsWithAllOfThemTogether) {
  const std::string text = text_of(two_kinds_of_a_device(), {.width = 80});

  EXPECT_TRUE(
      text.starts_with("6.00 ms, requested bytes\n"
                       "GPU 0, all kinds: at most 880 MiB, 444 MiB at the end"))
      << text;
  EXPECT_TRUE(has(text, "\nGPU 0: at most 760 MiB")) << text;
}

TEST(Timeline, OfAllKindsTogetherIsNotAboveWhatIsKnownOfTheirPeak) {
  Report report = two_kinds_of_a_device();
  report.joint_bounds = {{.device = 1, .lower = 1, .upper = 2},
                         {.device = 0, .lower = 760 * kMiB, .upper = 800 * kMiB}};

  EXPECT_TRUE(
      has(text_of(report, {.width = 80}), "all kinds: at most 800 MiB, 444 MiB at the end"));
}

TEST(Timeline, CurvesOfOneDeviceAreOnOneScale) {
  const std::string text = text_of(two_kinds_of_a_device(), {.width = 80});

  EXPECT_TRUE(has(text, "GPU 0: at most 760 MiB, 380 MiB at the end (log scale)")) << text;
  EXPECT_FALSE(has(text, "linear scale)")) << text;
}

// Seen of a run with one kind of any size: its curve stood there twice, and others had no room.
TEST(Timeline, ACurveThatIsNearlyAnotherGoesLastAndHiddenOnesAreNamed) {
  Report report = two_kinds_of_a_device();
  report.timeline.series[1].highest.assign(12, kMiB);
  report.timeline.series[1].last.assign(12, kMiB);

  const std::string text = text_of(report, {.width = 80}, {.most = 2});

  EXPECT_TRUE(has(text, "\nGPU 0 managed: at most 1.00 MiB")) << text;
  EXPECT_TRUE(has(text, "  and 1 more curve: -n 0 draws GPU 0\n")) << text;
}

TEST(Timeline, FoldsTitlesThatAreLong) {
  const Page page{.width = 60};
  EXPECT_TRUE(
      has(text_of(two_kinds_of_a_device(), page), "MiB,\n  444 MiB at the end (log scale)\n"));
  EXPECT_TRUE(has(text_of(two_curves(), page, {}, {.from_ns = 1'234'567, .to_ns = 4 * kMs}),
                  "shown from 1.23 ms to 4.00 ms\n"));
}

// Seen on a page of 40 lines: the range of the peak was the one without room.
TEST(TimelineText, TheRangeOfThePeakComesFirst) {
  RunTimeline timeline;
  timeline.ranges = {{.name = "load", .spans = {{0, 4}}},
                     {.name = "warm up", .spans = {{5, 8}}},
                     {.name = "train", .spans = {{9, 10}, {12, 14}}},
                     {.name = "save", .spans = {{15, 20}}}};
  timeline.marks = {{.what = RunMark::What::peak, .at_ns = 6, .bytes = 10},
                    {.what = RunMark::What::peak, .at_ns = 13, .bytes = 30},
                    {.what = RunMark::What::refused, .at_ns = 16, .bytes = 90}};

  put_ranges_of_peak_first(timeline);

  std::vector<std::string> names;
  for (const RunRange& range : timeline.ranges) names.push_back(range.name);
  EXPECT_EQ(names, (std::vector<std::string>{"train", "load", "warm up", "save"}));
}

// Seen of a run with ranges: names stood below their bars, above the next ones.
TEST(Timeline, ANameOfARangeStandsBesideItsBar) {
  RunTimeline timeline = run_timeline(two_curves(), {});
  const std::string long_name(50, 'n');
  timeline.ranges = {{.name = "load", .spans = {{0, kMs / 10}}},
                     {.name = "eval", .spans = {{5 * kMs, 6 * kMs}}},
                     {.name = long_name, .spans = {{0, 6 * kMs}}}};

  const std::string text = render(timeline_text(timeline, {}, {.width = 60}), {.width = 60});

  EXPECT_TRUE(has(text, "            = load\n")) << text;
  EXPECT_TRUE(has(text, " eval ========\n")) << text;
  EXPECT_TRUE(has(text, ("  " + long_name + "\n            ====").c_str())) << text;
}

TEST(Timeline, TakesNoMoreLinesThanATerminalHas) {
  Report report = two_kinds_of_a_device();
  for (std::uint16_t device = 1; device < 6; ++device) {
    report.timeline.series.push_back(report.timeline.series[0]);
    report.timeline.series.back().device = device;
  }
  const auto lines_on = [&](std::size_t lines, std::size_t most) {
    const std::string text =
        text_of(report, {.width = 60}, {.lines = lines, .most = most, .must_fit = true});
    EXPECT_TRUE(has(text, "all kinds: at most")) << text;
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };

  for (const std::size_t lines : {18U, 24U, 30U, 40U, 60U})
    EXPECT_LE(lines_on(lines, 0) + 3, lines);
  EXPECT_GT(lines_on(60, 0), lines_on(24, 0));
}

TEST(Timeline, WhereMarksAreManyTellsRefusalsAndTheHighestPeaks) {
  Report report = two_curves();
  report.oom = sample_refusals();
  report.oom.events.resize(1);
  report.oom.events[0].time_ns = 3 * kMs;
  for (std::uint16_t device = 1; device < 9; ++device) {
    report.kinds.push_back({.kind = Kind::device, .device = device, .peak_bytes = device * kMiB});
  }
  const std::string text = text_of(report);

  EXPECT_TRUE(has(text, "! 3.00 ms: ")) << text;
  EXPECT_TRUE(has(text, "peak of GPU 0, 760 MiB\n")) << text;
  EXPECT_TRUE(has(text, "peak of GPU 8, 8.00 MiB\n")) << text;
  EXPECT_FALSE(has(text, "peak of GPU 1, ")) << text;
  EXPECT_TRUE(has(text, "and 6 more marks\n")) << text;
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

}  // namespace
}  // namespace vramscope
