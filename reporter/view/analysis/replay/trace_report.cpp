// Adds a trace's tags up by site.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_report.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

SiteTotals totals_of(const TraceTag& tag) {
  return {.live_bytes = tag.held.live_bytes,
          .live_count = tag.held.live_count,
          .peak_bytes = tag.held.peak_bytes,
          .peak_count = tag.held.peak_count,
          .total_bytes = tag.held.bytes,
          .total_count = tag.held.allocations,
          .total_ns = tag.total_ns};
}

void add_part(Site& site, TracePlace where, const SiteTotals& totals) {
  site.totals += totals;
  for (SitePart& part : site.parts) {
    if (part.kind != where.first || part.device != where.second) continue;
    part.totals += totals;
    return;
  }
  site.parts.push_back({.kind = where.first, .device = where.second, .totals = totals});
}

void add_kinds(Report& report, const TraceTotals& totals, const TraceFollower& trace) {
  for (const auto& [where, kind] : totals.kinds) {
    report.kinds.push_back(
        {.kind = where.first,
         .device = where.second,
         .current_bytes = kind.held.live_bytes,
         .peak_bytes = kind.held.peak_bytes,
         .peak_ns = after(trace.begin_ns(), kind.peak_ns),
         .peak_site = static_cast<std::int64_t>(site_of_tag(trace.names(), kind.peak_tag)),
         .allocations = kind.held.allocations,
         .frees = kind.held.frees});
  }
}

void add_functions(Report& report, const TraceTotals& totals, const TraceNames& names) {
  for (const auto& [number, function] : totals.functions) {
    FunctionFacts facts;
    facts.name = number < names.functions.size() ? names.functions[number] : "unknown";
    facts.totals.calls = function.calls;
    facts.totals.failures = function.failures;
    facts.totals.time.count = function.calls;
    facts.totals.time.total_ns = function.total_ns;
    facts.totals.time.max_ns = function.max_ns;
    report.functions.push_back(std::move(facts));
  }
}

}  // namespace

std::size_t site_of_tag(const TraceNames& names, Tag tag) {
  const std::size_t site = tag < names.facts.tags.size() ? names.facts.tags[tag].site : 0;
  return site < names.facts.sites.size() ? site : 0;
}

std::uint32_t range_of_tag(const TraceNames& names, Tag tag) {
  const auto& tags = names.facts.tags;
  return tag < tags.size() ? tags[tag].values[static_cast<std::size_t>(Axis::range)] : 0;
}

std::vector<NamedInstant> marks_of_trace(const TraceFollower& trace) {
  std::vector<NamedInstant> marks;
  for (const MarkFact& mark : trace.names().facts.marks) {
    marks.push_back({.time_ns = after(trace.begin_ns(), mark.clock_ns), .name = mark.name});
  }
  return marks;
}

Report report_of_trace(const TraceFollower& trace, const TraceTotals& totals) {
  Report report;
  const TraceNames& names = trace.names();
  const RecorderFacts& facts = names.facts;
  report.modules = facts.modules;
  report.sources = facts.sources;
  report.sources_shown = names.sources_shown;
  report.codes = facts.codes;
  report.frames = facts.frames;
  report.tool_version = names.process.tool_version;
  report.process.pid = names.process.pid;
  report.process.executable = names.process.executable;
  report.process.mode = names.process.mode;
  report.timeline.start_ns = trace.start_ns();
  report.timeline.duration_ns = totals.last_ns - trace.begin_ns();
  report.sites.resize(std::max<std::size_t>(facts.sites.size(), 1));
  for (std::size_t i = 0; i < facts.sites.size(); ++i)
    report.sites[i].frames = facts.sites[i].frames;
  for (const auto& [key, tag] : totals.tags) {
    add_part(report.sites[site_of_tag(names, key.first)], key.second, totals_of(tag));
  }
  report.marks = marks_of_trace(trace);
  report.range_marks = report.marks.size();
  add_kinds(report, totals, trace);
  add_functions(report, totals, names);
  return report;
}

std::vector<std::string> trace_files(const std::string& report_file, const TraceReport& trace) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  if (trace.path.empty()) return found;
  const fs::path beside = fs::path(report_file).parent_path() / fs::path(trace.path).filename();
  for (const std::string& candidate : {beside.string(), trace.path}) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) found.push_back(candidate);
  }
  return found;
}

bool is_whole_trace_of(const TraceReader& reader, const ProcessFacts& process,
                       const TraceReport& trace) {
  const TraceProcess& its = reader.names().process;
  return reader.problem().empty() && reader.is_complete() && reader.lost() == 0 &&
         trace.lost == 0 && reader.events() == trace.events && its.pid == process.pid &&
         its.executable == process.executable && its.wall_ns >= process.start_time_ns &&
         its.wall_ns <= process.report_time_ns;
}

namespace {

// Returns the first whole trace of the process for which `use` returns true, or "".
std::string first_whole_trace(const std::string& report_file, const ProcessFacts& process,
                              const TraceReport& trace, const UseTrace& use) {
  for (const std::string& candidate : trace_files(report_file, trace)) {
    const TraceInput input(candidate);
    if (!input.problem().empty()) continue;
    TraceReader reader(input.bytes(), TraceReader::Damage::refused);
    if (is_whole_trace_of(reader, process, trace) && use(reader)) return candidate;
  }
  return "";
}

}  // namespace

bool use_whole_trace(const std::string& report_file, const MergedProcess& process,
                     const UseTrace& use) {
  return trigger_of(process.trigger) != Trigger::recovered &&
         !first_whole_trace(report_file, process.process, process.trace, use).empty();
}

std::string whole_trace_of(const std::string& report_file, const Report& report) {
  if (is_merged(report)) return "";  // its trace is none of one process
  return first_whole_trace(report_file, report.process, report.trace,
                           [](TraceReader&) { return true; });
}

}  // namespace vramscope
