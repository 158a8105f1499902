// What listings print on pages of 60, 80 and 200 columns, and in a pipe, are the texts in golden/.
// With VRAMSCOPE_WRITE_GOLDEN in the environment they are written anew.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "reporter/report/merge.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/calls_text.h"
#include "reporter/view/text/check_text.h"
#include "reporter/view/text/diff_text.h"
#include "reporter/view/text/leaks_text.h"
#include "reporter/view/text/map_text.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/runs_text.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/stats_text.h"
#include "reporter/view/text/timeline_text.h"
#include "test/view/made_trial.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

constexpr std::size_t kInAPipe = 0;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSegment = 20 * kMiB;
constexpr Address kFirstSegment = 0x7f0000000000;

struct Listing {
  const char* name;
  std::function<std::string(const Page&)> text;
  Stacks stacks = Stacks::in_rows;
};

std::string leaks_of_golden(const NameFrame& name, const Page& page, bool whole_stacks) {
  Report report = golden_report();
  report.sites[8].live_by_age = {64 * kMiB, 0, 0, 0, 0,
                                 0,         0, 0, 0, 0};  // kept from the beginning on
  report.sites[8].parts[0].totals.live_count = report.sites[8].totals.live_count = 4;
  const Suppressions none;
  return render(leaks_text(report, leaks_of(report, none, name), none, name, page,
                           {.whole_stacks = whole_stacks, .path = "r.json"}),
                page);
}

// Three segments of 20 MiB, each with a hole that a small block pins, and one without.
std::string map_of_golden(const Page& page) {
  Report report = golden_report();
  report.timeline.duration_ns = 9'000'000'000;
  for (const std::uint64_t used : {12 * kMiB, 2 * kMiB, 7 * kMiB, 16 * kMiB}) {
    const Address at = kFirstSegment + report.devices[0].segments.size() * kSegment;
    report.devices[0].segments.push_back(
        {.address = at,
         .total_size = kSegment,
         .allocated_size = used,
         .active_size = used,
         .requested_size = used,
         .blocks = {{.address = at, .size = 4 * kMiB},
                    {.address = at + 4 * kMiB,
                     .size = used,
                     .requested_size = used,
                     .state = BlockState::active_allocated,
                     .site = 3,
                     .born_ns = 1'000'000'000},
                    {.address = at + 4 * kMiB + used, .size = kSegment - 4 * kMiB - used}}});
    if (used == 16 * kMiB) report.devices[0].segments.back().blocks.pop_back();
  }
  const MapMoment moment{.text = "at the end", .at_ns = report.timeline.duration_ns};
  const std::vector<MapPlace> places = memory_map(report);
  const NameFrame name = golden_names();
  const std::vector<PlaceAnswer> answer = map_answer(report, places, moment, name);
  return render(map_text(report, answer, moment, name, page, 5), page);
}

std::string oom_of_golden(const Page& page) {
  Report report = golden_report();
  report.oom = sample_refusals();
  return render(oom_text(report, leaks_for_oom(report, golden_names()), golden_names(), page, 10),
                page);
}

// Batches that come and go in five seconds, and a loader that keeps what it has.
std::string timeline_of_golden(const Page& page) {
  Report report = golden_report();
  report.timeline = {.duration_ns = 5'000'000'000, .series = {}};
  for (const Kind kind : {Kind::device, Kind::pinned}) {
    TimelineSeries series{.kind = kind, .bucket_ns = 50'000'000};
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t bytes = (kind == Kind::pinned ? 64 : i % 20 * 38 + 38) * kMiB;
      series.highest.push_back(bytes);
      series.last.push_back(bytes);
    }
    report.timeline.series.push_back(std::move(series));
  }
  return render(timeline_text(run_timeline(report, {}), {}, page), page);
}

// The same run with more batches, and without the loader's pinned memory.
Report later_report() {
  Report report = golden_report();
  report.sites[1].parts[0].totals.peak_bytes += 64 * kMiB;
  report.sites[1].totals.peak_bytes += 64 * kMiB;
  report.sites.pop_back();
  report.kinds[0].peak_bytes += 64 * kMiB;
  report.kinds.pop_back();
  return report;
}

std::string diff_of_golden(const Page& page) {
  const DiffOf of{.before = "before.json", .after = "after.json", .limit = kMiB};
  return render(diff_text(differences(golden_report(), later_report(), DiffBy::site, DiffAt::peak,
                                      golden_names()),
                          of, page),
                page);
}

// Two threads called the driver, which waited for the device.
std::string calls_of_golden(const Page& page) {
  Report report = golden_report();
  report.timeline.duration_ns = 9'000'000'000;
  const auto add = [&](const char* function, std::uint64_t calls, std::uint64_t ns) {
    FunctionFacts facts{.name = function, .totals = {}};
    for (std::uint64_t i = 0; i < calls; ++i) facts.totals.time.add(ns + i * i / 10);
    facts.totals.calls = calls;
    report.functions.push_back(facts);
  };
  report.functions.clear();
  add("cuMemAlloc_v2", 4000, 1'000);
  add("cuMemFree_v2", 3900, 90'000);
  add("cuDevicePrimaryCtxRetain", 1, 108'000'000);
  report.functions.front().totals.failures = 2;
  report.devices[0].timing.sync.add(42'000'000);
  report.devices[0].timing.alloc_hit.add(17'000);
  const NameFrame name = golden_names();
  const CallsOf calls{.report = report, .calls = driver_calls(report), .name = name};
  return render(calls_text(calls, page, {}), page);
}

std::string check_of_golden(const Page& page) {
  const Suppressions none;
  Report report = golden_report();
  report.oom.count = 2;
  return render(
      check_text({checks_of(report, "vram/train.4711.json", {.peak = 512 * kMiB, .leak = 0}, none,
                            {.name = golden_names()}),
                  checks_against(later_report(), golden_report(), "vram/train.4711.json", 2, none,
                                 {.name = golden_names()})},
                 page, 3, /*typed=*/false),
      page);
}

// Ranks of one program, one of which was killed.
std::string folder_of_golden(const Page& page) {
  std::vector<ReportOfProcess> reports;
  for (int rank = 0; rank < 4; ++rank) {
    Report report = rank == 2 ? later_report() : golden_report();
    report.process.pid = 4711 + rank;
    report.process.rank = rank;
    if (rank == 3) report.process.ended_by = "SIGKILL";
    if (rank == 1) report.oom = {};
    reports.push_back({"vram/node-17.train.rank" + std::to_string(rank) + ".4711.json",
                       merged_processes(report).front()});
  }
  const Runs runs = runs_of(std::move(reports), {.earlier = 1});
  const auto all = [](const ScreenRoom&) { return std::size_t{0}; };
  return render(runs_text(runs, page, all, [](const ScreenRoom&) { return true; }), page);
}

// The ranks of a program, one of which keeps twice as much, and one nothing of the loader.
std::string leaks_of_folder(const Page& page) {
  const NameFrame name = golden_names();
  Merger several;
  for (int rank = 0; rank < 4; ++rank) {
    Report report = rank == 2 ? later_report() : golden_report();
    report.process.pid = 4711 + rank;
    report.process.rank = rank;
    Site& site = report.sites[3];
    site.totals.live_bytes = site.parts[0].totals.live_bytes = (rank == 1 ? 16 : 8) * kMiB;
    site.totals.live_count = site.parts[0].totals.live_count = rank == 1 ? 4 : 2;
    several.add(std::move(report));
  }
  const Report report = several.finish();
  const Suppressions none;
  return render(leaks_text(report, leaks_of(report, none, name), none, name, page,
                           {.most = 20, .path = "vram"}),
                page);
}

std::vector<Listing> listings() {
  static const Report report = [] {
    Report made = golden_report();
    add_joint_bounds(made);
    return made;
  }();
  static const NameFrame name = golden_names();
  const auto screen = [](const Page& page) {
    const ShownReport shown{report, "r.json", leaked_of(report, name)};
    return render(report_text(shown, name, page, kReportSites), page);
  };
  const auto sites = [](const Page& page) {
    return render(all_sites_text(report, SiteOrder::peak, name, page, 20), page);
  };
  const auto peak = [](const Page& page) {
    return render(peak_text(report, peak_answer(report, name), name, page, 10), page);
  };
  return {
      {"report", screen},
      {"report_full", screen, Stacks::in_full},
      {"report_tree", screen, Stacks::as_tree},
      {"sites", sites},
      {"sites_full", sites, Stacks::in_full},
      {"sites_tree", sites, Stacks::as_tree},
      {"peak", peak},
      {"peak_full", peak, Stacks::in_full},
      {"peak_tree", peak, Stacks::as_tree},
      {"owners",
       [](const Page& page) {
         return render(owners_text(report, owners_answer(report, {}), page, 20), page);
       }},
      {"owners_by_owner",
       [](const Page& page) { return render(axis_text(report, Axis::owner, {}, page, 20), page); }},
      {"leaks", [](const Page& page) { return leaks_of_golden(name, page, false); }},
      {"leaks_full", [](const Page& page) { return leaks_of_golden(name, page, true); }},
      {"leaks_tree", [](const Page& page) { return leaks_of_golden(name, page, false); },
       Stacks::as_tree},
      {"leaks_folder", leaks_of_folder},
      {"calls", calls_of_golden},
      {"oom", oom_of_golden},
      {"stats", [](const Page& page) { return render(stats_text(report, {}, page), page); }},
      {"map", map_of_golden},
      {"timeline", timeline_of_golden},
      {"diff", diff_of_golden},
      {"check", check_of_golden},
      {"replay", replay_of_golden},
      {"fit", fit_of_golden},
      {"tune", tune_of_golden},
      {"phase", phase_of_golden},
      {"scale", scale_of_golden},
      {"report_folder", folder_of_golden}};
}

Page page_of(std::size_t width, Stacks stacks) {
  Page page{.width = width == kInAPipe ? 100 : width, .unicode = true};
  page.cuts = width != kInAPipe;
  page.stacks = stacks;
  return page;
}

std::string path_of(const std::string& name, std::size_t width) {
  std::string path = VRAMSCOPE_GOLDEN;
  path.append("/").append(name).append(".");
  return path.append(width == kInAPipe ? "pipe" : std::to_string(width)).append(".txt");
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Golden, TextsAreThoseThatAreKept) {
  setenv("TZ", "UTC", 1);
  const bool writes = std::getenv("VRAMSCOPE_WRITE_GOLDEN") != nullptr;
  for (const Listing& listing : listings()) {
    for (const std::size_t width : {std::size_t{60}, std::size_t{80}, std::size_t{200}, kInAPipe}) {
      const std::string text = listing.text(page_of(width, listing.stacks));
      const std::string path = path_of(listing.name, width);
      if (writes) std::ofstream(path, std::ios::binary) << text;
      EXPECT_EQ(content_of(path), text) << path;
    }
  }
}

// Paths of files and commands are never broken: people copy them.
bool may_be_longer(const std::string& line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view rest = std::string_view(line).substr(first);
  return rest.starts_with("at ") || rest.starts_with("in ") ||
         rest.starts_with("Next: vramscope ") || rest.starts_with("vramscope oom ") ||
         rest.starts_with("--policy ") || rest.starts_with("PYTORCH_ALLOC_CONF=");
}

TEST(Golden, NoLineIsLongerThanItsPage) {
  for (const Listing& listing : listings()) {
    for (std::size_t width = 60; width <= 200; ++width) {
      std::istringstream lines(listing.text(page_of(width, listing.stacks)));
      for (std::string line; std::getline(lines, line);) {
        if (may_be_longer(line)) continue;
        EXPECT_LE(columns(line), width) << listing.name << ": " << line;
      }
    }
  }
}

TEST(Golden, NothingIsCutInAPipe) {
  for (const Listing& listing : listings()) {
    if (listing.stacks != Stacks::in_rows) continue;
    const std::string text = listing.text(page_of(kInAPipe, listing.stacks));
    EXPECT_EQ(text.find("No room for"), std::string::npos) << text;
    EXPECT_EQ(text.find("...\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("..\n"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace vramscope
