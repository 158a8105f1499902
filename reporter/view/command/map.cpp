// vramscope map: segments and blocks drawn to scale, and what keeps memory fragmented.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/replay/trace_map.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/instant_input.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/command/report_of_instant.h"
#include "reporter/view/command/show.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/instant_text.h"
#include "reporter/view/text/map_text.h"
#include "reporter/view/text/report_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kSegments = 5;  // of each pool, and sites

struct Arguments : OneReport {
  std::string at = "end";
};

// Of device memory the kind of which most was held at its peak; nullptr: none.
const KindFacts* highest_of(const Report& report) {
  const KindFacts* highest = nullptr;
  for (const KindFacts& kind : report.kinds) {
    const bool is_higher = highest == nullptr || kind.peak_bytes > highest->peak_bytes;
    if (takes_device_memory(kind.kind) && is_higher) highest = &kind;
  }
  return highest;
}

// What a report that was written because of a peak missed: the program went on until it was. ""
// where nothing.
std::string after_the_peak(const Report& report) {
  const KindFacts* const highest = highest_of(report);
  if (highest == nullptr || highest->current_bytes == highest->peak_bytes) return "";
  const std::uint64_t written = report.timeline.duration_ns;
  const auto amount = [](std::uint64_t bytes) { return bytes_text(bytes); };
  return "written " + duration_text(written - std::min(written, highest->peak_ns)) +
         " after the peak, with " + amount(highest->current_bytes) + " of its " +
         amount(highest->peak_bytes) + " of " + memory_name(highest->kind, highest->device) +
         " live (requested)";
}

// Of a report: when it was written.
std::string moment_of(const Report& report) {
  switch (trigger_of(report)) {
    case Trigger::oom:
      return "when memory ran out";
    case Trigger::exit:
      return "at the end";
    case Trigger::imported:
      return "when the snapshot was taken";
    default:
      return "at report " + std::to_string(report.sequence) + " (" + harmless(report.trigger) + ")";
  }
}

// The refusal's own time where that is why the report was written: to write it takes longer.
std::uint64_t time_of_moment(const Report& report) {
  const bool is_refusal = trigger_of(report) == Trigger::oom && !report.oom.events.empty();
  return is_refusal ? report.oom.events.back().time_ns : report.timeline.duration_ns;
}

bool is_at_its_peak(const Report& report) {
  return std::all_of(report.kinds.begin(), report.kinds.end(), [](const KindFacts& kind) {
    return !takes_device_memory(kind.kind) || kind.current_bytes == kind.peak_bytes;
  });
}

// Of the kind of memory of which most was held at its peak, what `then` had of it: the remark on a
// report that was written at a peak, not at the last.
std::string before_the_peak(const Report& report, const Report& then) {
  const KindFacts* const highest = highest_of(report);
  if (highest == nullptr) return "";
  for (const KindFacts& kind : then.kinds) {
    const bool is_it = kind.kind == highest->kind && kind.device == highest->device;
    if (!is_it || kind.current_bytes >= highest->peak_bytes) continue;
    return "with " + amount_text(kind.current_bytes) + " of the peak's " +
           amount_text(highest->peak_bytes) + " of " + memory_name(highest->kind, highest->device) +
           " live (requested)";
  }
  return "";
}

// In the place of a report, that which the same process wrote at the instant asked for, if it did;
// the remark says so. A trace that tells of a later refusal, or of the peak itself, is better.
void take_report_of_instant(const Arguments& given, std::string& path,
                            std::optional<Report>& report, std::string& remark) {
  const bool is_refusal = given.at == "oom" && report->oom.count != 0;
  const bool is_peak = given.at == "peak" && !is_at_its_peak(*report);
  const Trigger wanted = is_peak ? Trigger::peak : Trigger::oom;
  if ((!is_refusal && !is_peak) || trigger_of(*report) == wanted) return;
  std::string found = sibling_of(*report, path, wanted);
  std::optional<Report> then = found.empty() ? std::nullopt : open_report(found, given.reading);
  if (!then) return;
  const bool is_last = is_refusal && then->oom.count == report->oom.count;
  if (!is_last && !whole_trace_of(path, *report).empty()) return;
  const std::string missed = is_peak ? before_the_peak(*report, *then) : "";
  remark = "from " + shell_path(found, Page()) + ", " +
           (missed.empty() ? "which was written then" : "written " + missed);
  path = std::move(found);
  report = std::move(then);
}

// "": the report is of the instant that is asked for; else what is, or would have made one.
std::string why_not(const Report& report, const std::string& at) {
  const std::string& trace = report.trace.path;
  const std::string trace_of_it =
      trace.empty() ? "run with --trace FILE" : "give its trace, '" + trace + "'";
  if (at == "end") return "";
  if (at != "peak" && at != "oom") return no_instant_in(report, at, "--at");
  if (trigger_of(report) == (at == "peak" ? Trigger::peak : Trigger::oom)) return "";
  if (at == "peak" && is_at_its_peak(report)) return "";
  if (at == "oom" && report.oom.count == 0) return "memory never ran out";
  const std::string lacks = "holds what there was when it was written, not " +
                            std::string(at == "peak" ? "at the peak" : "when memory ran out");
  if (at == "peak") return lacks + ": " + trace_of_it + ", or with --report-at-peak 10%";
  return lacks + ": give the report of the trigger oom (--on-oom report), or " + trace_of_it;
}

// What was refused last, as the report tells it, to a map of its trace, which knows the bytes
// alone.
void add_figures_of_refusal(const Report& report, Report& traced, MapMoment& moment) {
  if (!moment.refused || report.oom.events.empty()) return;
  const OomEvent& last = report.oom.events.back();
  const OomEvent& seen = *moment.refused;
  const bool is_same =
      last.kind == seen.kind && last.device == seen.device && last.bytes == seen.bytes;
  if (!is_same) return;
  moment.refused = last;
  moment.refusals = report.oom.count;
  traced.process.options = report.process.options;
}

// Of a merged report the own report of the process with the highest peak, as far as these are
// there; "": none is. No segment is in a merged one.
std::string highest_own_file(const Report& report, const std::string& path) {
  std::string highest;
  std::uint64_t most = 0;
  for (const MergedProcess& process : merged_processes(report)) {
    const std::uint64_t peak = peak_of(process);
    const std::string own = own_file({.file = path, .process = process, .is_merged = true});
    if (own.empty() || (!highest.empty() && peak <= most)) continue;
    most = peak;
    highest = own;
  }
  return highest;
}

// Whether the report's own trace is there, which tells of every instant; it takes the report's
// place, which `remark` tells.
bool draws_its_trace(const Report& report, std::string& path, std::string& remark) {
  const std::string trace = whole_trace_of(path, report);
  if (trace.empty()) return false;
  remark = "'" + path + "' shows memory when it was written; this answer is from its trace, " +
           shell_word(trace);
  path = trace;
  return true;
}

std::vector<MapPlace> places_of(const Report& report, const NameFrame& name,
                                const Arguments& given) {
  std::vector<MapPlace> places = memory_map(report);
  for (MapPlace& place : places) {
    arrange(place.pinners, pinner_columns(report, name), given.listing.rows());
    arrange(place.segments, segment_columns(), given.listing.rows());
  }
  return places;
}

// Nothing: the trace lacks the instant.
std::optional<TraceInstant> instant_in(TraceFollower& trace, const Arguments& given) {
  using enum TraceInstant::What;
  if (given.at == "end") return TraceInstant{.what = end};
  if (given.at == "peak") return TraceInstant{.what = peak};
  if (given.at == "oom") return TraceInstant{.what = oom};
  if (!trace.follow({})) return std::nullopt;
  const std::optional<AskedInstant> asked = instant_of(trace, given.at, "--at");
  if (!asked) return std::nullopt;
  TraceInstant instant{.what = time, .at_ns = asked->at_ns};
  if (!asked->mark.empty()) instant.text = mark_text(*asked);
  return instant;
}

// What the trace knows of the instant; says why not.
std::optional<Report> open_trace(const std::string& path, const Arguments& given,
                                 MapMoment& moment) {
  std::optional<TraceMap> map;
  const auto use = [&](TraceFollower& trace) {
    const std::optional<TraceInstant> instant = instant_in(trace, given);
    if (instant) map = trace_map(trace, *instant, given.filter);
  };
  if (!follow_trace(path, given.reading, given.filter, FollowedTimes::all, use))
    return std::nullopt;
  moment = map->moment;
  return std::move(map->report);
}

// The map of a report's own trace. of_trace: says with an answer why the trace answers.
std::optional<Report> open_its_trace(const std::string& path, Arguments& given,
                                     const std::string& of_trace, const Report& report,
                                     MapMoment& moment) {
  given.next = "timeline";
  std::optional<Report> traced = open_trace(path, given, moment);
  if (!traced) return traced;
  if (!of_trace.empty()) {
    say(of_trace);
    given.said_columns = columns(of_trace);
  }
  add_figures_of_refusal(report, *traced, moment);
  return traced;
}

// The instant of which a report itself has the segments.
MapMoment moment_in(const Report& report, const Arguments& given, std::string remark,
                    std::uint64_t refusals) {
  const bool is_peak_of_other = given.at == "peak" && trigger_of(report) != Trigger::peak;
  MapMoment moment{.text = (is_peak_of_other ? "at the peak, " : "") + moment_of(report),
                   .at_ns = time_of_moment(report),
                   .remark = std::move(remark)};
  if (trigger_of(report) == Trigger::peak && moment.remark.empty()) {
    moment.remark = after_the_peak(report);
  }
  if (trigger_of(report) == Trigger::oom && !report.oom.events.empty()) {
    moment.refused = report.oom.events.back();
    moment.refusals = refusals;
  }
  return moment;
}

// The report, or what its trace says instead: path becomes the file that answers.
std::optional<Report> open_map(std::string& path, Arguments& given, MapMoment& moment) {
  const bool has_segments = given.at == "end" && is_memory_snapshot(path);
  given.next = is_trace(path) ? "timeline" : "peak --full";
  given.is_trace = is_trace(path) || (is_import(path) && !has_segments);
  if (given.is_trace) return open_trace(path, given, moment);
  std::optional<Report> report = open_report(path, given.reading);
  if (!report) return report;
  if (is_of_several(*report)) {
    given.next_file = highest_own_file(*report, path);
    if (!given.next_file.empty()) given.next = "map";
  }
  std::string remark;
  std::string of_trace;
  const std::uint64_t refusals = report->oom.count;
  take_report_of_instant(given, path, report, remark);
  const std::string reason = why_not(*report, given.at);
  const bool never_ran_out = given.at == "oom" && report->oom.count == 0;
  given.is_trace = never_ran_out     ? false
                   : !reason.empty() ? draws_its_trace(*report, path, of_trace)
                                     : takes_its_trace(given.filter, given.use, *report, path);
  if (given.is_trace) return open_its_trace(path, given, of_trace, *report, moment);
  if (!reason.empty()) {
    say("'" + path + "': " + reason);
    return std::nullopt;
  }
  moment = moment_in(*report, given, std::move(remark), refusals);
  return report;
}

int show_map(Arguments& given) {
  MapMoment moment;
  const NameFrame name = names_from_symbols();
  const auto open = [&](std::string& path) { return open_map(path, given, moment); };
  const auto text = [&](const Report& report, const Page& page) {
    const std::vector<MapPlace> places = places_of(report, name, given);
    return map_text(report, map_answer(report, places, moment, name), moment, name, page,
                    given.listing.most);
  };
  const auto json = [&](const Report& report) {
    return map_json(report, places_of(report, name, given), moment, name, given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_map_csv(rows, report, places_of(report, name, given), name, given.listing.rows());
  };
  if (given.at == "oom") given.keep = keep_refusals_once;
  given.columns = {names_of(pinner_columns(Report(), {})), names_of(segment_columns())};
  if (given.listing.csv) given.columns = {names_of(block_columns(Report(), {}))};
  return show(given, {text, json, csv}, open);
}

}  // namespace

Verb add_map(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("map", "Draw segments and blocks, and explain fragmentation");
  arguments->use = {.subject = Subject::segments, .inputs = Inputs::both, .of_a_trace = "map"};
  add_one_report(command, *arguments, kSegments);
  arguments->fits_screen = true;
  command.option("--at", &arguments->at,
                 "Choose the instant: end, peak, oom, a time (1.5s), a mark or range (step#3)",
                 {.value_name = "INSTANT", .why_not = no_instant_or_mark, .shows_default = true});
  add_filters(command, arguments->filter, arguments->use);
  add_redact(command, arguments->reading);
  add_view_options(command, arguments->stacks);
  command.footer(
      "Examples:\n  vramscope map vramscope.train.4711.json        is memory fragmented, and "
      "which blocks cause it?\n  vramscope map --at peak train.4711.trace       any instant of a "
      "trace (run --trace),\n                                                 or of a report with "
      "its trace "
      "beside it\n  vramscope map --kind pinned -n 0 r.json        every segment of pinned "
      "memory\n  vramscope map --site 'make_.*' r.json          segments with blocks from matching "
      "call stacks");
  return {.command = &command, .act = [arguments] { return show_map(*arguments); }};
}

}  // namespace vramscope
