// Leaves out what was asked to be, and judges whether a report vouches for the files that it names.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/reading.h"

#include <algorithm>

#include "reporter/report/gpus.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/report/unmeasured.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/arguments.h"
#include "reporter/view/system/host.h"
#include "reporter/view/system/source_lines.h"

namespace vramscope {
namespace {

// The first host that it was written on and that is not this one; "": there is none.
std::string other_host(const Report& report) {
  const std::string here = this_host();
  const auto named = [](const std::string& host) { return host.empty() ? "a host unknown" : host; };
  for (const MergedProcess& process : report.processes) {
    if (process.process.hostname != here) return named(process.process.hostname);
  }
  const bool is_here = is_merged(report) || report.process.hostname == here;
  return is_here ? "" : named(report.process.hostname);
}

void redact(Report& report) {
  report.process.arguments.clear();
  for (MergedProcess& process : report.processes) process.process.arguments.clear();
}

// What is said of lines that are not shown, and `why`.
std::string remark(const std::vector<SourceFact>& sources, const std::string& path,
                   const std::string& why, const Reading& reading) {
  const bool is_asked = !reading.source_folders.empty();
  if (is_asked || !reading.shows_sources || reading.has_remarked) return "";
  if (std::none_of(sources.begin(), sources.end(), is_as_it_was)) return "";
  reading.has_remarked = true;
  const std::string what = path.empty() ? "one of the reports" : "'" + path + "'";
  return "lines of source are left out: " + what + why +
         "; --source-path FOLDER shows those of files below it";
}

constexpr const char* kNotAlone = " is not this user's alone";

}  // namespace

void add_redact(Command& command, Reading& reading) {
  command.flag("--redact", reading.is_redacted,
               "Leave out the program's arguments, which may hold secrets");
}

void add_reading(Command& command, Reading& reading) {
  reading.shows_sources = true;
  command.option("--source-path", &reading.source_folders,
                 "Show source lines of files below FOLDER; repeatable", {.value_name = "FOLDER"});
  add_redact(command, reading);
}

std::string take_in(Report& report, const std::string& path, const Reading& reading) {
  const std::string other = other_host(report);
  const bool is_own = report.is_own_file && other.empty();
  count_unmeasured_with_others(report);
  label_gpus(report);
  report.sources_shown = {.is_own = is_own, .folders = reading.source_folders};
  if (reading.is_redacted) redact(report);
  if (is_own) return "";
  return remark(report.sources, path, report.is_own_file ? " was written on " + other : kNotAlone,
                reading);
}

std::string take_in(TraceReader& trace, bool is_own, const std::string& path,
                    const Reading& reading) {
  trace.show_sources({.is_own = is_own, .folders = reading.source_folders});
  return is_own ? "" : remark(trace.names().facts.sources, path, kNotAlone, reading);
}

void take_in_for_merge(Report& report, const Reading& reading) {
  count_unmeasured_with_others(report);
  if (reading.becomes_file && !report.is_own_file) {
    for (SourceFact& source : report.sources) source.bytes = source.modified_ns = 0;
  }
  if (reading.is_redacted) redact(report);
}

}  // namespace vramscope
