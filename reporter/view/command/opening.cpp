// Opens what verbs read: reports, live files, traces and files of other tools.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <variant>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/leaks/told_owners.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/live_report.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/trace_text.h"

namespace vramscope {
namespace {

// What another tool's file says; says why it cannot be read.
std::optional<ImportedRun> open_imported(const std::string& path) {
  auto read = read_import(path);
  if (const FileError* error = std::get_if<FileError>(&read)) {
    say(error->message);
    return std::nullopt;
  }
  return std::move(std::get<ImportedRun>(read));
}

std::optional<Report> open_import(const std::string& path) {
  std::optional<ImportedRun> run = open_imported(path);
  if (!run) return std::nullopt;
  return report_of_import(std::move(*run));
}

std::optional<Report> open_as_it_is(std::string& path) {
  if (is_live_file(path)) {
    const Recovery found = report_of_live_file(path, {}, say);
    if (!found.problem.empty()) {
      say(found.problem);
      return std::nullopt;
    }
    path = found.report;
    say("report in " + path);
  }
  if (is_import(path)) return open_import(path);
  if (is_trace(path)) {
    say_no_report(path, "trace");
    return std::nullopt;
  }
  std::variant<Report, FileError> result = read_report(path);
  if (const FileError* error = std::get_if<FileError>(&result)) {
    say(error->message);
    return std::nullopt;
  }
  Report& report = std::get<Report>(result);
  tell_owners_anew(report);
  return std::move(report);
}

}  // namespace

std::optional<Report> open_report(std::string& path, const Reading& reading) {
  std::optional<Report> report = open_as_it_is(path);
  if (!report) return report;
  const std::string remark = take_in(*report, path, reading);
  if (!remark.empty()) say(remark);
  return report;
}

void say_no_report(const std::string& trace, std::string_view command) {
  say("'" + trace + "': expected a report, found a trace; for a trace, use: vramscope " +
      std::string(command) + " " + shell_word(trace));
}

bool read_trace(const std::string& path, const Reading& reading,
                const std::function<TraceTrouble(TraceReader&)>& use) {
  TraceTrouble trouble;
  const auto follow = [&](TraceReader& reader) {
    trouble.problem = reader.problem();
    if (trouble.problem.empty()) trouble = use(reader);
  };
  if (is_import(path)) {
    const std::optional<ImportedRun> run = open_imported(path);
    if (!run) return false;
    const std::string bytes = trace_of_import(*run);
    TraceReader reader(std::as_bytes(std::span(bytes)), TraceReader::Damage::refused);
    follow(reader);
  } else if (const TraceInput input(path); (trouble.problem = input.problem()).empty()) {
    TraceReader reader(input.bytes(), TraceReader::Damage::refused);
    const std::string remark = take_in(reader, input.is_own(), path, reading);
    if (!remark.empty()) say(remark);
    follow(reader);
    if (trouble.problem.empty() && !reader.is_complete())
      say("'" + path + "' " + std::string(kNoEnd));
  }
  if (!trouble.problem.empty()) say("cannot read '" + path + "': " + trouble.problem);
  if (!trouble.missing.empty()) say("'" + path + "' " + trouble.missing);
  return trouble.problem.empty() && trouble.missing.empty();
}

TraceTrouble trouble_of(const TraceFollower& trace) {
  return {.missing = trace.missing(), .problem = trace.problem()};
}

bool follow_trace(const std::string& path, const Reading& reading, const Filter& filter,
                  FollowedTimes times, const std::function<void(TraceFollower&)>& use) {
  return read_trace(path, reading, [&](TraceReader& reader) {
    TraceFollower trace(reader, filter, names_from_symbols(), times);
    if (trace.missing().empty()) use(trace);
    return trouble_of(trace);
  });
}

}  // namespace vramscope
