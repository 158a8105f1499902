// Which allocations of a trace pass a filter.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_filter.h"

#include <set>

#include "reporter/report/attribution.h"
#include "reporter/report/parts.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/analysis/stacks/thread_names.h"

namespace vramscope {
namespace {

constexpr Axis kFiltered[] = {Axis::owner, Axis::thread, Axis::stream, Axis::range};

// By site; empty: all pass.
std::vector<bool> sites_that_pass(const TraceNames& names, const Filter& filter,
                                  const NameFrame& name) {
  if (filter.site.empty()) return {};
  const Report report = report_of_names(names);
  PlaceSearch places(report, filter.site, name);
  std::vector<bool> pass;
  for (const SiteFact& site : names.facts.sites) pass.push_back(places.is_in(site.frames));
  return pass;
}

const std::string& typed(const Filter& filter, Axis axis) {
  return axis == Axis::owner    ? filter.owner
         : axis == Axis::thread ? filter.thread
         : axis == Axis::stream ? filter.stream
                                : filter.range;
}

ReportParts parts_of(const TraceNames& names) {
  ReportParts parts;
  parts.recorder = names.facts;
  parts.function_names = names.functions;
  return parts;
}

std::set<std::string> values_of(const ReportParts& parts, Axis axis) {
  std::set<std::string> values;
  for (Tag tag = 1; tag < parts.recorder.tags.size(); ++tag) {
    values.insert(value_of_tag(parts, axis, tag));
  }
  return values;
}

// With the threads that began in the function it names.
Filter with_threads(const Filter& filter, const TraceNames& names, const ReportParts& parts) {
  Filter meant = filter;
  if (filter.thread.empty()) return meant;
  const Report report = report_of_names(names);
  const NameFrame name = names_from_symbols();
  name_threads(meant, values_of(parts, Axis::thread), ThreadNames(report, name));
  return meant;
}

}  // namespace

Report report_of_names(const TraceNames& names) {
  Report report;
  report.modules = names.facts.modules;
  report.sources = names.facts.sources;
  report.codes = names.facts.codes;
  report.frames = names.facts.frames;
  report.process.pid = names.process.pid;
  report.process.executable = names.process.executable;
  report.threads = make_threads(names.facts);
  return report;
}

std::string missing_from(const TraceNames& names, const Filter& filter) {
  std::optional<ReportParts> parts;
  for (const Axis axis : kFiltered) {
    if (typed(filter, axis).empty()) continue;
    if (!parts) parts = parts_of(names);
    const Report report = report_of_names(names);
    const NameFrame name = names_from_symbols();
    const ThreadNames threads(report, name);
    std::string missing = no_such_value(
        with_threads(filter, names, *parts), axis, typed(filter, axis), values_of(*parts, axis),
        [&](const std::string& thread) { return threads.in_message(thread); });
    if (!missing.empty()) return missing;
  }
  return {};
}

TraceFilter trace_filter(const TraceNames& names, const Filter& filter, const NameFrame& name) {
  TraceFilter result;
  result.is_by_memory = !filter.chooses_rows() && !filter.has_times();
  result.from_ns = read_instant(filter.from).value_or(0);
  result.to_ns = read_instant(filter.to).value_or(UINT64_MAX);
  Filter at_any_time = filter;
  at_any_time.from = at_any_time.to = "";
  result.is_empty = at_any_time.is_empty();
  if (result.is_empty) return result;
  result.device = filter.device;
  result.least_bytes = filter.least_bytes();
  for (const std::string_view kind : kKindNames) {
    result.kinds.push_back(filter.has_kind(kind));
  }
  const ReportParts parts = parts_of(names);
  const Filter meant = with_threads(filter, names, parts);
  const std::vector<bool> sites = sites_that_pass(names, filter, name);
  for (Tag tag = 0; tag < names.facts.tags.size(); ++tag) {
    const std::uint32_t site = names.facts.tags[tag].site;
    bool pass = sites.empty() || (site < sites.size() && sites[site]);
    for (const Axis axis : kFiltered) {
      pass = pass && meant.passes(axis, value_of_tag(parts, axis, tag));
    }
    result.tags.push_back(pass);
  }
  return result;
}

}  // namespace vramscope
