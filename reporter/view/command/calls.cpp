// vramscope calls: how often the program called the driver, and how long that took.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "reporter/report/attribution.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_calls.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/show.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/calls_text.h"
#include "reporter/view/text/filter_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 20;

struct Arguments : OneReport {
  std::string by = "function";
  std::optional<DriverCalls> traced = {};  // of the trace that is being shown

  [[nodiscard]] CallsBy axis() const {
    return by == "thread" ? CallsBy::thread : CallsBy::function;
  }
};

std::string no_call_axis(const std::string& name) {
  for (const std::string_view known : kCallsByNames)
    if (name == known) return "";
  return "'" + name + "' is none of " + listed(kCallsByNames);
}

// What of a trace stands in a head, and its calls.
std::optional<Report> open_calls_of_trace(Arguments& given, const std::string& path) {
  std::optional<Report> report;
  const auto follow = [&](TraceFollower& trace) {
    const auto shown = [](const ThreadNames& threads, const std::string& thread) {
      return threads.in_message(thread);
    };
    const ChosenCalls chosen =
        chosen_calls(trace.names(), given.filter, names_from_symbols(), shown);
    if (!chosen.missing.empty()) return trace.lack(chosen.missing);
    TraceCalls calls(trace.names(), chosen);
    TraceTotals totals;
    if (!trace.follow({&calls, &totals})) return;
    totals.finish();
    report = report_of_trace(trace, totals);
    report->threads = make_threads(trace.names().facts);
    given.traced = given.axis() == CallsBy::function ? calls.by_function(trace.length_ns())
                                                     : calls.by_thread(trace.length_ns());
  };
  const Filter filter = without_functions_and_threads(given.filter);
  if (!follow_trace(path, given.reading, filter, FollowedTimes::of_filter, follow)) return {};
  return report;
}

int show_calls(Arguments& given) {
  const NameFrame name = names_from_symbols();
  if (given.axis() == CallsBy::thread) {
    given.use.axis = Axis::thread;
    given.use.of_a_trace = "calls --by thread";
    if (given.filter.kind.empty()) given.prepare = leave_out_views;
  }
  const auto calls_of = [&](const Report& report) {
    const bool is_by_function = given.axis() == CallsBy::function;
    return CallsOf{.report = report,
                   .calls = given.traced     ? *given.traced
                            : is_by_function ? driver_calls(report)
                                             : allocating_calls(report),
                   .by = given.axis(),
                   .is_of_trace = given.traced.has_value(),
                   .name = name};
  };
  const auto text = [&](const Report& report, const Page& page) {
    return calls_text(calls_of(report), page, given.listing.rows());
  };
  const auto json = [&](const Report& report) {
    return calls_json(calls_of(report), given.listing.rows());
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_calls_csv(rows, calls_of(report), given.listing.rows());
  };
  const auto open = [&](std::string& path) {
    given.traced.reset();
    given.is_trace =
        is_trace(path) || (is_import(path) && !cannot_filter(given.filter, given.use).empty());
    if (given.is_trace) return open_calls_of_trace(given, path);
    std::optional<Report> report = open_report(path, given.reading);
    given.is_trace = report && takes_its_trace(given.filter, given.use, *report, path);
    return given.is_trace ? open_calls_of_trace(given, path) : report;
  };
  const Report none;
  given.columns = {names_of(
      call_columns({.report = none, .calls = {}, .by = given.axis(), .name = name}, nullptr))};
  given.next = given.axis() == CallsBy::function ? "calls --by thread" : "owners --by call";
  return show(given, {text, json, csv}, open);
}

}  // namespace

Verb add_calls(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("calls", "Show the time spent in driver calls");
  arguments->use = {.subject = Subject::calls, .inputs = Inputs::both, .of_a_trace = "calls"};
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  add_filters(command, arguments->filter, arguments->use);
  add_redact(command, arguments->reading);
  command.option("--by", &arguments->by, "Show a row for each function or thread",
                 {.value_name = "AXIS",
                  .why_not = no_call_axis,
                  .shows_default = true,
                  .choices = choices_in(listed(kCallsByNames))});
  command.footer(
      "vramscope calls lists what the program called; vramscope functions lists what Vramscope can "
      "record. For two runs, see diff --by call.\n"
      "Examples:\n"
      "  vramscope calls vramscope.train.4711.json\n"
      "  vramscope calls --by thread train.4711.trace         every call of each thread\n"
      "  vramscope calls --function cuMemFree --by thread train.4711.trace\n"
      "  vramscope calls --sort failures vramscope.train.4711.json");
  return {.command = &command, .act = [arguments] { return show_calls(*arguments); }};
}

}  // namespace vramscope
