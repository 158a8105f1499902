// vramscope map: segments and blocks drawn to scale, and what keeps memory fragmented.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "reporter/report/report.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/digest.h"
#include "reporter/view/text/instant.h"
#include "reporter/view/text/map_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/trace_map.h"
#include "reporter/view/text/trace_report.h"
#include "reporter/view/verbs/inputs.h"
#include "reporter/view/verbs/report_of_instant.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kSegments = 5;  // of each pool, and sites

struct Arguments : OneReport {
  std::string at = "end";
};

std::string no_moment(const std::string& given) {
  const bool good = given == "end" || given == "peak" || given == "oom" || read_instant(given);
  return good ? "" : "'" + given + "' is none of end, peak, oom, or a time such as 1.5s or 200ms";
}

// What a report that was written because of a peak missed: the program went on until it was. ""
// where nothing.
std::string after_the_peak(const Report& report) {
  const KindFacts* highest = nullptr;
  for (const KindFacts& kind : report.kinds) {
    const bool is_higher = highest == nullptr || kind.peak_bytes > highest->peak_bytes;
    if (takes_device_memory(kind.kind) && is_higher) highest = &kind;
  }
  if (highest == nullptr || highest->current_bytes == highest->peak_bytes) return "";
  const std::uint64_t written = report.timeline.duration_ns;
  const auto amount = [](std::uint64_t bytes) {
    return bytes_text(static_cast<std::int64_t>(bytes));
  };
  return "written " + duration_text(written - std::min(written, highest->peak_ns)) +
         " after the peak, with " + amount(highest->current_bytes) + " of its " +
         amount(highest->peak_bytes) + " of " + memory_text(highest->kind, highest->device) +
         " live (requested)";
}

// Of a report: when it was written.
std::string moment_of(const Report& report) {
  if (report.trigger == "oom") return "when memory ran out";
  if (report.trigger == "exit") return "at the end";
  if (report.trigger == kImported) return "when the snapshot was taken";
  return "at report " + std::to_string(report.sequence) + " (" + harmless(report.trigger) + ")";
}

// The refusal's own time where that is why the report was written: to write it takes longer.
std::uint64_t time_of_moment(const Report& report) {
  const bool is_refusal = report.trigger == "oom" && !report.oom.events.empty();
  return is_refusal ? report.oom.events.back().time_ns : report.timeline.duration_ns;
}

bool is_at_its_peak(const Report& report) {
  return std::all_of(report.kinds.begin(), report.kinds.end(), [](const KindFacts& kind) {
    return !takes_device_memory(kind.kind) || kind.current_bytes == kind.peak_bytes;
  });
}

// In the place of a report, that which the same process wrote when memory ran out, if that is the
// instant asked for; the remark says so.
void take_refusal_report(const Arguments& given, std::string& path, std::optional<Report>& report,
                         std::string& remark) {
  if (given.at != "oom" || report->trigger == "oom" || report->oom.count == 0) return;
  std::string found = sibling_of(*report, path, "oom");
  if (found.empty()) return;
  remark = "from " + shell_path(found, Page()) + ", which was written then";
  path = std::move(found);
  report = open_report(path);
}

// "": the report is of the instant that is asked for; else what is, or would have made one.
std::string why_not(const Report& report, const std::string& path, const std::string& at) {
  const std::string& trace = report.trace.path;
  const std::string trace_of_it =
      trace.empty() ? "run with --trace FILE" : "give its trace, '" + trace + "'";
  if (at == "end" || report.trigger == at) return "";
  if (at != "peak" && at != "oom") {
    return "holds only what there was when it was written: " + trace_of_it;
  }
  if (at == "peak" && is_at_its_peak(report)) return "";
  if (at == "oom" && report.oom.count == 0) return "memory never ran out";
  const std::string lacks = "holds what there was when it was written, not " +
                            std::string(at == "peak" ? "at the peak" : "when memory ran out");
  const std::string sibling = sibling_of(report, path, at);
  if (!sibling.empty()) {
    return lacks + "; the process's report of that instant: vramscope map " + shell_word(sibling);
  }
  if (at == "peak") return lacks + ": " + trace_of_it + ", or with --report-at-peak 10%";
  return lacks + ": give the report of the trigger oom (--on-oom report), or " + trace_of_it;
}

// Whether the report's own trace is there, which tells of every instant; it takes the report's
// place, which `remark` tells.
bool draws_its_trace(const Report& report, std::string& path, std::string& remark) {
  const std::string trace = whole_trace_of(path, report);
  if (trace.empty()) return false;
  remark = "'" + path + "' holds what there was when it was written; this is of its trace, " +
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

TraceInstant instant_of(const Arguments& given) {
  TraceInstant instant;
  using enum TraceInstant::What;
  instant.what = given.at == "end"    ? end
                 : given.at == "peak" ? peak
                 : given.at == "oom"  ? oom
                                      : time;
  if (instant.what == time) instant.at_ns = read_instant(given.at).value_or(0);
  return instant;
}

// What the trace knows of the instant; says why not.
std::optional<Report> open_trace(const std::string& path, const Arguments& given,
                                 MapMoment& moment) {
  TraceMap map;
  const auto use = [&](TraceReader& reader) {
    map = trace_map(reader, instant_of(given), given.filter, names_from_symbols());
    return map.problem;
  };
  if (!read_trace(path, use)) return std::nullopt;
  if (!map.missing.empty()) {
    say("'" + path + "' " + map.missing);
    return std::nullopt;
  }
  moment = map.moment;
  return std::move(map.report);
}

int show_map(Arguments& given) {
  MapMoment moment;
  const NameFrame name = names_from_symbols();
  const auto open = [&](std::string& path) -> std::optional<Report> {
    const bool has_segments = given.at == "end" && is_memory_snapshot(path);
    given.next = is_trace(path) ? "timeline" : "peak --full";
    given.is_trace = is_trace(path) || (is_import(path) && !has_segments);
    if (given.is_trace) return open_trace(path, given, moment);
    std::optional<Report> report = open_report(path);
    std::string remark;
    std::string of_trace;  // said with an answer alone
    if (report) take_refusal_report(given, path, report, remark);
    if (!report) return report;
    const std::string reason = why_not(*report, path, given.at);
    given.is_trace = !reason.empty() ? draws_its_trace(*report, path, of_trace)
                                     : takes_its_trace(given.filter, given.use, *report, path);
    if (given.is_trace) {
      given.next = "timeline";
      std::optional<Report> traced = open_trace(path, given, moment);
      if (traced && !of_trace.empty()) say(of_trace);
      return traced;
    }
    if (!reason.empty()) {
      say("'" + path + "': " + reason);
      return std::nullopt;
    }
    moment = {
        .text = moment_of(*report), .at_ns = time_of_moment(*report), .remark = std::move(remark)};
    if (report->trigger == "peak") moment.remark = after_the_peak(*report);
    return report;
  };
  const auto text = [&](const Report& report, const Page& page) {
    return map_text(report, places_of(report, name, given), moment, name, page, given.listing.most);
  };
  const auto json = [&](const Report& report) {
    return map_json(report, places_of(report, name, given), moment, name, given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_map_csv(rows, report, places_of(report, name, given), name, given.listing.rows());
  };
  given.columns = {names_of(pinner_columns(Report(), {})), names_of(segment_columns())};
  if (given.listing.csv) given.columns = {names_of(block_columns(Report(), {}))};
  return show(given, {text, json, csv}, open);
}

}  // namespace

Verb add_map(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("map", "Draw segments and blocks; say what pins memory");
  arguments->use = {.subject = Subject::segments, .inputs = Inputs::both, .of_a_trace = "map"};
  add_one_report(command, *arguments, kSegments);
  arguments->fits_screen = true;
  command.option("--at", &arguments->at, "Instant: end, peak, oom, or a time such as 1.5s",
                 {.value_name = "INSTANT", .why_not = no_moment, .shows_default = true});
  add_filters(command, arguments->filter, arguments->use);
  add_view_options(command, arguments->stacks);
  command.footer(
      "Examples:\n"
      "  vramscope map vramscope.train.4711.json        is it fragmentation, and what pins it?\n"
      "  vramscope map --at peak train.4711.trace       of a trace (run --trace): at any instant;\n"
      "                                                 of a report whose trace lies beside it, "
      "too\n"
      "  vramscope map --kind pinned -n 0 r.json        every segment of pinned memory\n"
      "  vramscope map --site 'make_.*' r.json          segments with blocks of such call stacks");
  return {.command = &command, .act = [arguments] { return show_map(*arguments); }};
}

}  // namespace vramscope
