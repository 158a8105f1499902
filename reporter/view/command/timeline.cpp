// vramscope timeline: how much was allocated over time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/replay/trace_timeline.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/show.h"
#include "reporter/view/command/timeline_of_ranks.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/ranks_timeline_text.h"
#include "reporter/view/text/timeline_bounds.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kCurves = 3;  // more plots than that do not fit on a screen

struct Arguments : OneReport {
  std::string scale = "automatic";
  std::string clock = "automatic";
  bool ascii = false;
};

std::string no_scale(const std::string& given) {
  return scale_of(given) ? "" : "'" + given + "' is none of " + listed(kScaleNames);
}

std::string no_clock(const std::string& given) {
  return rank_clock_of(given) ? "" : "'" + given + "' is none of " + listed(kRankClockNames);
}

TimelineChoice choice_of(const Arguments& given) {
  TimelineChoice choice;
  if (!given.filter.from.empty()) choice.from_ns = read_instant(given.filter.from);
  if (!given.filter.to.empty()) choice.to_ns = read_instant(given.filter.to);
  return choice;
}

// Of another tool's file without history: what it calls a peak is what was live.
void be_snapshot(RunTimeline& timeline) {
  timeline.is_snapshot = true;
  for (RunCurve& curve : timeline.curves) curve.is_snapshot = true;
  std::erase_if(timeline.marks,
                [](const RunMark& mark) { return mark.what == RunMark::What::peak; });
}

// What the trace knows; says why not.
std::optional<Report> open_trace(const std::string& path, const Arguments& given,
                                 const TimelineChoice& choice, RunTimeline& timeline) {
  Report report;  // which process it is
  const auto use = [&](TraceFollower& trace) {
    if (auto found = trace_timeline(trace, choice)) timeline = std::move(*found);
    report.process.pid = trace.names().process.pid;
    report.process.executable = trace.names().process.executable;
  };
  if (!follow_trace(path, given.reading, given.filter, FollowedTimes::all, use))
    return std::nullopt;
  return report;
}

// The report of `path`, or its trace, from which `timeline` is made then; says why not.
std::optional<Report> open_timeline(std::string& path, Arguments& given,
                                    const TimelineChoice& choice, RunTimeline& timeline) {
  given.is_trace = is_trace(path) || is_import(path);
  given.next = is_trace(path) ? "map --at peak" : "peak";
  std::optional<Report> report;
  if (!given.is_trace) report = open_report(path, given.reading);
  if (report && takes_its_trace(given.filter, given.use, *report, path)) {
    given.is_trace = true;
    given.next = "map --at peak";
  }
  if (given.is_trace) report = open_trace(path, given, choice, timeline);
  if (is_import(path) && timeline.length_ns == 0) be_snapshot(timeline);
  if (!report || !choice.from_ns) return report;
  const std::uint64_t length_ns =
      given.is_trace ? timeline.length_ns : run_timeline(*report, {}).length_ns;
  const std::string none = ends_before(length_ns, *choice.from_ns, "--from");
  if (none.empty() || length_ns == 0) return report;  // 0: nobody knows
  say("'" + path + "' " + none);
  return std::optional<Report>();
}

int show_timeline(Arguments& given) {
  const TimelineChoice choice = choice_of(given);
  if (choice.from_ns && choice.to_ns && *choice.to_ns <= *choice.from_ns) {
    say("--to " + given.filter.to + " is not after --from " + given.filter.from);
    return kBadInput;
  }
  given.together = [&](const std::vector<std::string>& paths) {
    return show_ranks(given, paths,
                      {.choice = {.clock = *rank_clock_of(given.clock), .window = choice},
                       .scale = *scale_of(given.scale),
                       .ascii = given.ascii});
  };
  RunTimeline timeline;
  const auto timeline_of = [&](const Report& report) {
    if (!given.is_trace) timeline = run_timeline(report, choice);
    if (!given.is_trace) add_bounds(timeline, report);
    arrange(timeline.curves, curve_columns(), given.listing.rows());
    return timeline;
  };
  const auto text = [&](const Report& report, const Page& page) {
    const TimelineLook look{.scale = *scale_of(given.scale),
                            .lines = screen_lines(given.listing),
                            .most = given.listing.most,
                            .must_fit = page.lines != 0};
    Page drawn = page;
    drawn.unicode = page.unicode && !given.ascii;
    return timeline_text(timeline_of(report), look, drawn);
  };
  const auto json = [&](const Report& report) {
    return timeline_json(timeline_of(report), given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_timeline_csv(rows, timeline_of(report), given.listing.rows());
  };
  given.columns = {given.listing.csv ? names_of(bucket_columns()) : names_of(curve_columns()),
                   given.listing.csv ? names_of(rank_step_columns()) : rank_column_names()};
  const auto opens = [&](std::string& path) {
    return open_timeline(path, given, choice, timeline);
  };
  return show(given, {text, json, csv}, opens);
}

}  // namespace

Verb add_timeline(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("timeline", "Draw memory use over time");
  arguments->use = {.subject = Subject::curves, .inputs = Inputs::both, .of_a_trace = "timeline"};
  arguments->adds_up = true;
  add_one_report(command, *arguments, kCurves);
  arguments->prepare = add_joint_bounds;
  command.option(
      "--scale", &arguments->scale,
      "Scale the axis of bytes: " + listed(kScaleNames) + "; automatic prints its choice",
      {.value_name = "SCALE",
       .why_not = no_scale,
       .shows_default = true,
       .choices = choices_in(listed(kScaleNames))});
  command.flag("--ranks", arguments->is_together_asked,
               "Show the processes of a merged report over each other");
  command.option("--clock", &arguments->clock,
                 "Choose time 0 of several processes: " + listed(kRankClockNames) +
                     "; start: each one's own; wall: of the first, by the hosts' clocks",
                 {.value_name = "CLOCK",
                  .why_not = no_clock,
                  .shows_default = true,
                  .choices = choices_in(listed(kRankClockNames))});
  add_filters(command, arguments->filter, arguments->use);
  add_redact(command, arguments->reading);
  command.flag("--ascii", arguments->ascii, "Draw with ASCII characters only");
  command.footer(
      "Examples:\n"
      "  vramscope timeline vramscope.train.4711.json\n"
      "  vramscope timeline train.4711.trace                exact, with NVTX ranges\n"
      "  vramscope timeline --from 2s --to 2.5s --scale linear r.json\n"
      "  vramscope timeline FOLDER                          ranks over each other");
  return {.command = &command, .act = [arguments] { return show_timeline(*arguments); }};
}

}  // namespace vramscope
