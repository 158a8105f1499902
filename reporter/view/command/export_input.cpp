// Filters what was read before it is exported.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/export_input.h"

#include <optional>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/timeline_cap.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_sites.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/import/imports.h"

namespace vramscope {
namespace {

Cost cost_of(const ExportArguments& arguments) {
  return cost_named(arguments.cost).value_or(Cost::peak);
}

// of: the report whose trace this is; null: not known.
int with_trace(const ExportArguments& arguments, const std::string& file, const Report* of,
               const UseExported& use) {
  int status = kFine;
  const auto follow = [&](TraceFollower& trace) {
    TraceTotals totals;
    if (!trace.follow({&totals})) return;
    totals.finish();
    Report report = report_of_trace(trace, totals);
    if (of != nullptr) report.process = of->process;  // a trace knows no rank and no job
    if (arguments.filter.kind.empty()) leave_out_kinds_of_views(report);
    const Exported exported(std::move(report), trace, cost_of(arguments), arguments.stacks,
                            names_from_symbols());
    status = use(exported, file);
  };
  const bool is_good =
      follow_trace(file, arguments.reading, arguments.filter, FollowedTimes::of_filter, follow);
  return is_good ? status : kBadInput;
}

// With its events.
int with_report_and_trace(const ExportArguments& arguments, Report report,
                          const std::string& trace_file, const UseExported& use) {
  int status = kFine;
  const auto follow = [&](TraceFollower& trace) {
    const std::vector<std::int64_t> sites = sites_in_report(report, trace.names());
    leave_out_views(report);
    cap_timeline(report);
    Exported exported(std::move(report), cost_of(arguments), arguments.stacks,
                      names_from_symbols());
    exported.attach(trace, sites);
    status = use(exported, trace_file);
  };
  const bool is_good =
      follow_trace(trace_file, arguments.reading, arguments.filter, FollowedTimes::all, follow);
  return is_good ? status : kBadInput;
}

int with_report(const ExportArguments& arguments, const ExportFormat& format, std::string file,
                const UseExported& use) {
  std::optional<Report> report = open_report(file, arguments.reading);
  if (!report) return kBadInput;
  const FilterUse filters = export_filters(arguments.format);
  const bool may_be_of_trace = format.needs != ExportFormat::Needs::report;
  if (may_be_of_trace && takes_its_trace(arguments.filter, filters, *report, file)) {
    return with_trace(arguments, file, &*report, use);
  }
  Filtering filtering(arguments.filter, filters);
  if (!filtering.applies(*report, file)) return kBadInput;
  if (format.is_folder && arguments.filter.is_empty()) {
    const std::string trace = whole_trace_of(file, *report);
    if (!trace.empty()) return with_report_and_trace(arguments, *std::move(report), trace, use);
  }
  if (arguments.filter.kind.empty()) leave_out_views(*report);
  cap_timeline(*report);
  return use(Exported(std::move(*report), cost_of(arguments), arguments.stacks,
                      names_from_symbols(), arguments.filter),
             "");
}

// Of a format that is made of a trace: where that of the report is, or how one is recorded.
int refuse_report(const ExportArguments& arguments, const std::string& format, std::string file) {
  const std::string needs = format + " is made of a trace, ";
  const std::optional<Report> report = open_report(file, arguments.reading);
  if (!report) return kBadInput;
  const std::string trace = whole_trace_of(file, *report);
  if (trace.empty()) {
    return refuse(needs + "which vramscope run --trace FILE records; '" + file + "' is none");
  }
  return refuse(needs + "and '" + file + "' is none; its own is there: vramscope export --format " +
                format + " " + shell_word(trace));
}

}  // namespace

FilterUse export_filters(const std::string& format) {
  return {.inputs = Inputs::both, .of_a_trace = "export --format " + format};
}

int with_exported(const ExportArguments& arguments, const ExportFormat& format,
                  const std::string& file, const UseExported& use) {
  using enum ExportFormat::Needs;
  const std::string name(format.name);
  const bool is_log = is_import(file) && format.needs != report;
  if (is_trace(file) || is_log) {
    if (format.needs == report) return refuse(name + " is made of a report, not of a trace");
    return with_trace(arguments, file, nullptr, use);
  }
  if (format.needs == trace) return refuse_report(arguments, name, file);
  return with_report(arguments, format, file, use);
}

}  // namespace vramscope
