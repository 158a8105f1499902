// vramscope peak: what made the peak of each kind of memory, or what was live at another instant.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/instant_input.h"
#include "reporter/view/command/show.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/instant_text.h"
#include "reporter/view/text/moment_text.h"
#include "reporter/view/text/peak_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 10;
constexpr const char* kPeak = "peak";
constexpr const char* kEnd = "end";

struct Arguments : OneReport {
  std::string at = kPeak;
};

// What was live when all kinds of memory together were at their peak, the report's trace tells.
void lead_to_trace(OneReport& given, const Report& report) {
  if (given.is_one_of_several || !report.joint_peaks.empty() || report.joint_bounds.empty()) return;
  const std::string trace = whole_trace_of(given.file, report);
  if (trace.empty()) return;
  given.next = "peak";
  given.next_file = trace;
}

int show_peak(OneReport& given) {
  const NameFrame name = names_from_symbols(given.stacks.shown);
  const auto found_in = [&](const Report& report) {
    PeakAnswer answer = peak_answer(report, name);
    arrange_live(answer, report, name, given.listing.rows());
    return answer;
  };
  const auto text = [&](const Report& report, const Page& page) {
    lead_to_trace(given, report);
    RowChoice rows = given.listing.rows();
    // What was allocated before is not among them, though it was live, too.
    if (given.filter.has_times()) rows.live_title = "ALLOCATED IN THAT TIME, LIVE AT ITS PEAK";
    return peak_text(report, found_in(report), name, page, rows);
  };
  const auto json = [&](const Report& report) {
    return peak_json(report, found_in(report), name, given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_live_csv(rows, report, found_in(report).kinds, name, given.listing.most);
  };
  given.columns = {names_of(share_columns(Report(), {}))};
  given.next = given.stacks.shown == Stacks::in_rows   ? "peak --tree"
               : given.stacks.shown == Stacks::as_tree ? "peak --full"
                                                       : "owners";
  return show(given, {text, json, csv});
}

// The report, of the end; or what its trace, or the trace in `path`, has of another instant.
std::optional<Report> open_at(std::string& path, Arguments& given, AskedInstant& instant) {
  const bool is_snapshot = given.at == kEnd && is_memory_snapshot(path);
  given.is_trace = is_trace(path) || (is_import(path) && !is_snapshot);
  if (!given.is_trace) {
    std::optional<Report> report = open_report(path, given.reading);
    if (!report) return report;
    instant = {.at_ns = report->timeline.duration_ns, .is_end = true};
    given.is_trace = takes_its_trace(given.filter, given.use, *report, path);
    if (!given.is_trace && given.at == kEnd) return report;
    if (!given.is_trace) {
      std::optional<std::string> trace = trace_of(path, *report, given.at, "--at");
      if (!trace) return std::nullopt;
      say("'" + path +
          "' tells what was live when it was written; this answer is from its trace, " +
          shell_word(*trace));
      path = std::move(*trace);
      given.is_trace = true;
    }
  }
  std::optional<ReportUntil> until =
      open_traced_until(path, given.filter, given.at, "--at", given.reading);
  if (!until) return std::nullopt;
  instant = std::move(until->instant);
  return std::move(until->report);
}

int show_moment(Arguments& given) {
  if (given.filter.has_times()) {
    return refuse("peak: --at names one instant, and does not go with --from and --to");
  }
  if (given.at != kEnd) given.adds_up = false;  // times are of each process
  given.use.measure = Measure::live;
  given.prepare = {};
  const NameFrame name = names_from_symbols(given.stacks.shown);
  AskedInstant instant{.is_end = given.at == kEnd};
  const auto open = [&](std::string& path) { return open_at(path, given, instant); };
  const auto found_in = [&](const Report& report) {
    if (instant.is_end) instant.at_ns = report.timeline.duration_ns;
    MomentAnswer answer = moment_answer(report, instant);
    arrange_live(answer, report, name, given.listing.rows());
    return answer;
  };
  const auto text = [&](const Report& report, const Page& page) {
    RowChoice rows = given.listing.rows();
    rows.live_title = "LIVE THEN";
    return moment_text(report, found_in(report), name, page, rows);
  };
  const auto json = [&](const Report& report) {
    return moment_json(report, found_in(report), name, given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_live_csv(rows, report, found_in(report).kinds, name, given.listing.most);
  };
  given.columns = {names_of(share_columns(Report(), {}))};
  given.next = "map --at " + shell_word(given.at);
  return show(given, {text, json, csv}, open);
}

}  // namespace

Verb add_peak(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("peak", "Explain the peak of each kind of memory");
  arguments->use = {.measure = Measure::peak,
                    .inputs = Inputs::both,
                    .row_is_of_memory = true,
                    .of_a_trace = "peak"};
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  arguments->fits_screen = true;
  arguments->prepare = add_joint_bounds;
  command.option("--at", &arguments->at,
                 "Choose the instant: peak, end, a time (1.5s), a mark or range (step#3)",
                 {.value_name = "INSTANT", .why_not = no_instant_or_mark, .shows_default = true});
  add_layout_options(command, arguments->stacks);
  add_filters(command, arguments->filter, arguments->use);
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.footer(
      "Examples:\n"
      "  vramscope peak vramscope.train.4711.json             when it was, and what was live then\n"
      "  vramscope peak --tree vramscope.train.4711.json      from main down to each allocation\n"
      "  vramscope peak --full -n 1 vramscope.train.4711.json the whole stack of the largest\n"
      "  vramscope peak --range forward train.4711.trace      in one NVTX range (run --trace)\n"
      "  vramscope peak --at 'step#3' train.4711.trace        live at the third mark 'step'");
  return {.command = &command, .act = [arguments] {
            return arguments->at == kPeak ? show_peak(*arguments) : show_moment(*arguments);
          }};
}

}  // namespace vramscope
