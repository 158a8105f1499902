// What is shown of programs that run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/live/live_reading.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/running_program.h"
#include "reporter/view/text/live_screen.h"
#include "reporter/view/text/running_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

TEST(RunningPrograms, NoneIsOneLineThatLeadsOn) {
  EXPECT_EQ(running_text({}, Page{}),
            "No program of this user is recorded now. Next: vramscope run PROGRAM\n");
}

TEST(RunningPrograms, TheFiguresAreThoseOfTheDevices) {
  LiveReading reading;
  reading.report.emplace();
  Report& report = *reading.report;
  report.process.executable = "/app/train";
  report.process.start_time_ns = 5;
  report.process.report_time_ns = 1005;
  report.kinds = {{.kind = Kind::device, .device = 1, .current_bytes = 10, .peak_bytes = 30},
                  {.kind = Kind::array, .device = 1, .current_bytes = 2, .peak_bytes = 20},
                  {.kind = Kind::device, .device = 0, .current_bytes = 1, .peak_bytes = 1},
                  {.kind = Kind::pinned, .current_bytes = 500, .peak_bytes = 500}};
  report.joint_peaks = {{.facts = {.device = 1, .peak_bytes = 40}}};

  const RunningProgram found = running_program(7, "/dev/shm/x.live", reading);

  EXPECT_EQ(found.program, "train");
  EXPECT_EQ(found.age_ns, 1000U);
  EXPECT_EQ(found.devices, (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(found.live_bytes, 13U);
  EXPECT_EQ(found.peak_bytes, 41U);
}

TEST(RunningPrograms, ThatOfAScriptHasItsName) {
  LiveReading reading;
  reading.report.emplace();
  reading.report->process.executable = "/usr/bin/python3.11";
  reading.report->process.arguments = {"python3", "-u", "jobs/train.py", "--fast"};

  EXPECT_EQ(running_program(7, "/dev/shm/x.live", reading).program, "train.py");
}

TEST(RunningPrograms, WhatCannotBeReadSaysWhy) {
  const RunningProgram found =
      running_program(7, "/x.live", {.problem = "it was written by another version"});

  EXPECT_FALSE(found.live_bytes);
  const std::string text = running_text({found}, Page{});
  EXPECT_NE(text.find("7: it was written by another version"), text.npos) << text;
}

constexpr std::uint64_t kSecondNs = 1'000'000'000;

// As if the program were at its peak.
void hold_what_the_peak_held(Report& report) {
  const auto hold = [](SiteTotals& totals) {
    totals.live_bytes = totals.peak_bytes;
    totals.live_count = totals.peak_count;
  };
  for (Site& site : report.sites) {
    hold(site.totals);
    for (SitePart& part : site.parts) hold(part.totals);
  }
  for (AxisEntry& entry : report.axes) hold(entry.totals);
  for (KindFacts& kind : report.kinds) kind.current_bytes = kind.peak_bytes;
  Stat& requested = report.devices[0].statistics.requested_bytes.all;
  requested.current = requested.peak;
}

// What was read of the program of golden_report(), again and again.
struct Watched {
  Watched() {
    setenv("TZ", "UTC", 1);
    tzset();
    reading.report = golden_report();
    hold_what_the_peak_held(*reading.report);
    reading.next_report = "/run/vramscope.train.4711.json";
    ProcessFacts& process = reading.report->process;
    process.start_time_ns = 1000 * kSecondNs;
    process.report_time_ns = 1061 * kSecondNs;
    add_history();
  }
  void add_history() {
    Report report = *reading.report;
    std::uint64_t& bytes = report.kinds[0].current_bytes;
    const std::uint64_t now = bytes;
    for (std::uint64_t i = 0; i < 60; ++i) {
      report.process.report_time_ns = (1001 + i) * kSecondNs;
      bytes = now / 60 * (60 - i % 20);
      history.add(report);
    }
    history.add(*reading.report);
  }
  [[nodiscard]] LivePicture picture() { return {reading, history, mark, names}; }
  [[nodiscard]] Screen screen(const ScreenSize& size, const Page& page) {
    return live_screen(picture(), view, size, page);
  }

  LiveReading reading;
  LiveHistory history;
  LiveMark mark;
  LiveRowNames names{golden_names()};
  LiveView view;
};

constexpr Page kUnicode{.unicode = true};

void expect_golden(const Screen& screen, const std::string& name) {
  const std::string path = std::string(VRAMSCOPE_GOLDEN) + "/live." + name + ".txt";
  const std::string text = text_of(screen, {});
  if (std::getenv("VRAMSCOPE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream wanted;
  wanted << std::ifstream(path).rdbuf();
  EXPECT_EQ(wanted.str(), text) << path << ": VRAMSCOPE_WRITE_GOLDEN=1 writes it anew";
}

void expect_fits(const Screen& screen, const ScreenSize& size) {
  ASSERT_EQ(screen.lines.size(), size.lines);
  for (const ScreenLine& line : screen.lines) EXPECT_LE(width_of(line), size.columns);
}

TEST(LiveScreen, OfASmallTerminalIsAsInItsGoldenText) {
  Watched watched;
  const Screen screen = watched.screen({.lines = 24, .columns = 80}, kUnicode);
  expect_fits(screen, {.lines = 24, .columns = 80});
  expect_golden(screen, "24x80");
}

TEST(LiveScreen, OfALargeTerminalIsAsInItsGoldenText) {
  Watched watched;
  watched.mark.set(*watched.reading.report, 1030 * kSecondNs);
  watched.reading.report->sites[0].parts[0].totals.live_bytes += 5 << 20;
  watched.reading.report->kinds[0].current_bytes += 9 << 20;
  watched.view.sort = LiveSort::growth;
  const Screen screen = watched.screen({.lines = 60, .columns = 200}, kUnicode);
  expect_fits(screen, {.lines = 60, .columns = 200});
  expect_golden(screen, "60x200");
}

TEST(LiveScreen, WithoutUnicodeHasLettersOfAsciiAlone) {
  Watched watched;
  const Screen screen = watched.screen({.lines = 24, .columns = 80}, {});
  expect_golden(screen, "ascii");
  for (const char letter : text_of(screen, {})) {
    EXPECT_TRUE(letter == '\n' || (letter >= ' ' && letter <= '~')) << static_cast<int>(letter);
  }
}

TEST(LiveScreen, OfEverySizeIsFilledExactly) {
  Watched watched;
  for (std::size_t lines = 1; lines < 70; lines += 3) {
    for (std::size_t columns = 1; columns < 220; columns += 13) {
      expect_fits(watched.screen({.lines = lines, .columns = columns}, kUnicode),
                  {.lines = lines, .columns = columns});
    }
  }
}

TEST(LiveScreen, ShowsTheLastRowWhereThereAreFewerThanWereScrolledBy) {
  Watched watched;
  watched.view.top = 500;
  const std::vector<LiveRow> rows = shown_rows(watched.picture(), watched.view);
  const std::string last = amount_text(rows.back().live_bytes);
  EXPECT_NE(text_of(watched.screen({}, {}), {}).find("  " + last), std::string::npos);
}

TEST(LiveScreen, AProgramThatEndedNamesTheNextCommand) {
  Watched watched;
  watched.reading.has_ended = true;
  const ScreenSize size{.lines = 24, .columns = 120};
  const std::string pid = std::to_string(watched.reading.report->process.pid);
  EXPECT_NE(text_of(watched.screen(size, {}), {}).find("next: vramscope recover " + pid),
            std::string::npos);
  watched.reading.is_reported = true;
  EXPECT_NE(text_of(watched.screen(size, {}), {})
                .find("next: vramscope report /run/vramscope.train.4711.json"),
            std::string::npos);
}

TEST(LiveScreen, ColoursAreOnPagesThatHaveThem) {
  Watched watched;
  const Screen screen = watched.screen({}, kUnicode);
  EXPECT_EQ(text_of(screen, {.colour = false}).find('\x1b'), std::string::npos);
  EXPECT_NE(text_of(screen, {.colour = true}).find("\x1b[32m"), std::string::npos);
}

TEST(LiveRows, OfEachGroupAddUpToTheirKinds) {
  Watched watched;
  watched.reading.report->kinds[0].current_bytes += 777;  // what changed during the reading
  for (std::size_t i = 0; i < kLiveGroupNames.size(); ++i) {
    std::map<std::pair<Kind, std::uint16_t>, std::uint64_t> sums;
    for (const LiveRow& row :
         live_rows(*watched.reading.report, static_cast<LiveGroup>(i), watched.mark)) {
      sums[{row.kind(), row.device()}] += row.live_bytes;
    }
    for (const KindFacts& kind : watched.reading.report->kinds) {
      EXPECT_GE((sums[{kind.kind, kind.device}]), kind.current_bytes) << kLiveGroupNames[i];
    }
  }
}

TEST(LiveRows, WhatIsGoneSinceTheMarkIsARowOfMinus) {
  Watched watched;
  Report& report = *watched.reading.report;
  watched.mark.set(report, kSecondNs);
  SiteTotals& totals = report.sites[0].parts[0].totals;
  const auto held = static_cast<std::int64_t>(totals.live_bytes);
  ASSERT_GT(held, 0);
  totals.live_bytes = totals.live_count = 0;
  for (const LiveRow& row : live_rows(report, LiveGroup::sites, watched.mark)) {
    if (row.site != 0) continue;
    EXPECT_EQ(row.grown_bytes, row.live_bytes == 0 ? -held : 0);
  }
}

TEST(LiveRows, AFilterAndASearchFindNamesInAnyCase) {
  Watched watched;
  const std::vector<LiveRow> all = shown_rows(watched.picture(), watched.view);
  const std::string& name = watched.names.of(*watched.reading.report, LiveGroup::sites, all.back());
  std::string upper = name.substr(0, name.find(' '));
  for (char& letter : upper) letter = static_cast<char>(std::toupper(letter));
  watched.view.search = upper;
  EXPECT_LT(found_row(watched.picture(), watched.view, 0), all.size());
  watched.view.filter = upper;
  const std::vector<LiveRow> some = shown_rows(watched.picture(), watched.view);
  EXPECT_FALSE(some.empty());
  EXPECT_LT(some.size(), all.size());
}

TEST(LiveHistory, KeepsTheLastMinutesAndTheHighestOfEachColumn) {
  LiveHistory history;
  Report report;
  report.kinds = {{.kind = Kind::device}};
  for (std::uint64_t i = 0; i <= 600; ++i) {
    report.process.report_time_ns = (1000 + i) * kSecondNs;
    report.kinds[0].current_bytes = i;
    history.add(report);
  }
  EXPECT_EQ(history.length_ns(), LiveHistory::kLongestNs);
  const std::vector<std::uint64_t> columns = history.columns(10, history.length_ns());
  EXPECT_EQ(columns.back(), 600U);
  EXPECT_TRUE(std::is_sorted(columns.begin(), columns.end()));
  EXPECT_GE(columns.front(), 300U);
}

}  // namespace
}  // namespace vramscope
