// vramscope advise: what an expert would change, from a report or a trace.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/advise.h"

#include <memory>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/show.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/advice_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kFindings = 5;

struct Arguments : OneReport {
  // What is being shown.
  std::optional<std::vector<Advice>> of_trace = {};
  bool has_segments = false;
};

// What the trace shows; says why not.
std::optional<Report> open_trace(const std::string& path, Arguments& given) {
  std::optional<TraceAdvice> advice = advice_in_trace(path, given.reading, given.stacks);
  if (!advice) return std::nullopt;
  given.of_trace = std::move(advice->found);
  given.has_segments = advice->has_segments;
  return std::move(advice->report);
}

std::optional<Report> open_one(std::string& path, Arguments& given) {
  given.of_trace.reset();
  given.is_trace = is_trace(path) || (is_import(path) && !is_memory_snapshot(path));
  if (given.is_trace) return open_trace(path, given);
  std::optional<Report> report = open_report(path, given.reading);
  if (!report) return report;
  if (is_of_several(*report)) {
    say("'" + path + "' adds up several processes: advise judges each by its own report");
    return std::nullopt;
  }
  const std::string trace = whole_trace_of(path, *report);
  if (trace.empty()) return report;
  say("'" + path + "' has a trace, which shows more; this answer is from " + shell_word(trace));
  given.is_trace = true;
  path = trace;
  return open_trace(path, given);
}

// In the place of a merged report those of its processes, as far as they are there.
void take_own_reports(std::vector<std::string>& files, const Reading& reading) {
  std::vector<std::string> all;
  for (const std::string& file : report_files(files, say)) {
    std::string path = file;
    const bool is_report = !is_trace(file) && !is_import(file);
    const std::optional<Report> report = is_report ? open_report(path, reading) : std::nullopt;
    std::vector<std::string> own;
    if (report && is_of_several(*report)) {
      for (const MergedProcess& process : merged_processes(*report)) {
        const std::string its = own_file({.file = path, .process = process, .is_merged = true});
        if (!its.empty()) own.push_back(its);
      }
    }
    if (own.empty()) own.push_back(file);
    all.insert(all.end(), own.begin(), own.end());
  }
  files = std::move(all);
}

int show_advice(Arguments& given) {
  const NameFrame name = names_from_symbols(given.stacks.shown);
  take_own_reports(given.files, given.reading);
  if (given.files.empty()) return kBadInput;
  const auto open = [&](std::string& path) { return open_one(path, given); };
  const auto found_in = [&](const Report& report) {
    std::vector<Advice> found = given.of_trace ? *given.of_trace : advice_of_report(report, name);
    arrange(found, advice_columns(report, name), given.listing.rows());
    return found;
  };
  const auto text = [&](const Report& report, const Page& page) {
    const std::vector<Advice> found = found_in(report);
    given.next = found.empty() ? "peak" : "";
    return advice_text(
        {.report = report,
         .found = found,
         .file = given.file,
         .has_segments = given.of_trace ? given.has_segments : has_telling_segments(report),
         .is_trace = given.of_trace.has_value()},
        name, page, given.listing.rows());
  };
  const auto json = [&](const Report& report) {
    const Columns<Advice> columns = advice_columns(report, name);
    return json_of(chosen_rows(found_in(report), columns, given.listing.rows()), columns);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_rows(rows, found_in(report), advice_columns(report, name), given.listing.most);
  };
  given.columns = {names_of(advice_columns(Report(), {}))};
  return show(given, {text, json, csv}, open);
}

}  // namespace

std::optional<TraceAdvice> advice_in_trace(const std::string& path, const Reading& reading,
                                           const StackChoice& stacks) {
  std::optional<TraceAdvice> advice;
  const NameFrame name = names_from_symbols();
  const auto use = [&](TraceReader& reader) {
    TraceFollower trace(reader);
    advice = trace_advice(reader, trace, stacks, name);
    return trouble_of(trace);
  };
  if (!read_trace(path, reading, use)) return std::nullopt;
  return advice;
}

Verb add_advise(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("advise", "Say what would save memory or time, and why");
  arguments->use = {.inputs = Inputs::both, .of_a_trace = "advise"};
  add_one_report(command, *arguments, kFindings);
  add_full_option(command, arguments->stacks);
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.footer(
      "Each finding has the figures that show it, what to do, and the command that shows more. A "
      "trace (run --trace) shows more than a report. A merged report is judged by the reports of "
      "its processes.\n"
      "Examples:\n"
      "  vramscope advise vramscope.train.4711.json\n"
      "  vramscope advise -n 0 train.4711.trace     all findings, not five");
  return {.command = &command, .act = [arguments] { return show_advice(*arguments); }};
}

}  // namespace vramscope
