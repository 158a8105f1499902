// vramscope timeline: how much was allocated over time.
// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "reporter/report/report.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/instant.h"
#include "reporter/view/text/timeline_text.h"
#include "reporter/view/text/trace_timeline.h"
#include "reporter/view/verbs/inputs.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kCurves = 3;  // more plots than that do not fit on a screen

struct Arguments : OneReport {
  std::string scale = "automatic";
  std::string from, to, kind;
  std::optional<unsigned> device;
  bool ascii = false;
};

std::string no_scale(const std::string& given) {
  return scale_of(given) ? "" : "'" + given + "' is none of " + listed(kScaleNames);
}

// Lines that one screen has; LINES, as COLUMNS, is believed first.
std::size_t screen_lines(const Listing& listing) {
  constexpr std::size_t kUsual = 24;
  const char* const given = std::getenv("LINES");
  const std::string text = given == nullptr ? "" : given;
  if (!text.empty() && not_a_count(text).empty()) return std::stoul(text);
  winsize size{};
  const bool is_terminal = listing.output.empty() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_terminal && size.ws_row != 0 ? size.ws_row : kUsual;
}

TimelineChoice choice_of(const Arguments& given) {
  TimelineChoice choice;
  if (!given.from.empty()) choice.from_ns = read_instant(given.from);
  if (!given.to.empty()) choice.to_ns = read_instant(given.to);
  if (!given.kind.empty()) choice.kind = kind_of(given.kind);
  if (given.device) choice.device = static_cast<std::uint16_t>(std::min(*given.device, 0xffffU));
  return choice;
}

// What the trace knows; says why not.
std::optional<Report> open_trace(const std::string& path, const TimelineChoice& choice,
                                 RunTimeline& timeline) {
  Report report;  // which process it is
  const auto use = [&](TraceReader& reader) {
    TraceTimeline read = trace_timeline(reader, choice);
    timeline = std::move(read.timeline);
    report.process.pid = reader.names().process.pid;
    report.process.executable = reader.names().process.executable;
    return read.problem;
  };
  if (!read_trace(path, use)) return std::nullopt;
  return report;
}

// The report, or one that names the process of a trace.
std::optional<Report> open(std::string& path, const TimelineChoice& choice, RunTimeline& timeline) {
  if (is_trace(path) || is_import(path)) return open_trace(path, choice, timeline);
  std::optional<Report> report = open_report(path);
  if (report) timeline = run_timeline(*report, choice);
  return report;
}

int show_timeline(Arguments& given) {
  const TimelineChoice choice = choice_of(given);
  if (choice.from_ns && choice.to_ns && *choice.to_ns <= *choice.from_ns) {
    say("--to " + given.to + " is not after --from " + given.from);
    return kBadInput;
  }
  RunTimeline timeline;
  const auto text = [&](const Report&, const Page& page) {
    const TimelineLook look{.scale = *scale_of(given.scale),
                            .lines = screen_lines(given.listing),
                            .most = given.listing.most};
    Page drawn = page;
    drawn.unicode = page.unicode && !given.ascii;
    return timeline_text(timeline, look, drawn);
  };
  const auto json = [&](const Report&) { return timeline_json(timeline, given.listing.most); };
  const auto csv = [&](const Report&, CsvText& rows) {
    add_timeline_csv(rows, timeline, given.listing.rows());
  };
  given.columns = {given.listing.csv ? names_of(bucket_columns()) : names_of(curve_columns())};
  const auto opens = [&](std::string& path) {
    given.next = is_trace(path) ? "map --at peak" : "peak";
    std::optional<Report> report = open(path, choice, timeline);
    arrange(timeline.curves, curve_columns(), given.listing.rows());
    return report;
  };
  return show(given, {text, json, csv}, opens);
}

}  // namespace

Verb add_timeline(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("timeline", "Draw how much was allocated over time");
  add_one_report(command, *arguments, kCurves);
  command.option("--scale", &arguments->scale,
                 "Of the bytes: " + listed(kScaleNames) + "; automatic says what it chose",
                 {.value_name = "SCALE", .why_not = no_scale, .shows_default = true});
  command.option("--from", &arguments->from, "Begin so long after the first call, e.g. 1.5s",
                 {.value_name = "TIME", .why_not = not_an_instant});
  command.option("--to", &arguments->to, "End so long after the first call",
                 {.value_name = "TIME", .why_not = not_an_instant});
  command.option("--device", &arguments->device, "Memory of this GPU only", {.value_name = "N"});
  command.option("--kind", &arguments->kind, "Memory of this kind only: device, pinned, ...",
                 {.value_name = "KIND", .why_not = not_a_kind});
  command.flag("--ascii", arguments->ascii, "Draw with ASCII alone");
  command.footer(
      "Examples:\n"
      "  vramscope timeline vramscope.train.4711.json\n"
      "  vramscope timeline train.4711.trace                exact, with NVTX ranges\n"
      "  vramscope timeline --from 2s --to 2.5s --scale linear r.json");
  return {.command = &command, .act = [arguments] { return show_timeline(*arguments); }};
}

}  // namespace vramscope
