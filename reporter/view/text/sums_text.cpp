// Puts what processes held together into lines.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/sums_text.h"

#include <algorithm>
#include <functional>

#include "reporter/report/merged_process.h"
#include "reporter/report/trigger.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

std::string sum_text(const DeviceSum& sum) {
  if (sum.is_traced) return "peak " + amount_text(sum.upper) + ", exactly, from their traces";
  if (sum.lower == sum.upper) return "peak " + amount_text(sum.upper);
  // A lower bound far below tells nothing.
  if (sum.lower < sum.upper / 2) return "peak at most " + amount_text(sum.upper);
  return "peak " + amount_text(sum.lower) + " to " + amount_text(sum.upper);
}

// Whose trace is missing for an exact sum.
std::string why_bounds(const std::vector<DeviceSum>& sums,
                       const std::vector<ReportOfProcess>& reports) {
  std::vector<const ReportOfProcess*> killed, traceless;
  for (const ReportOfProcess& one : reports) {
    if (trigger_of(one.process.trigger) == Trigger::recovered) killed.push_back(&one);
    if (trace_files(one.file, one.process.trace).empty()) traceless.push_back(&one);
  }
  if (!killed.empty()) {
    return "Not exact: " + names_text(killed) +
           (killed.size() == 1 ? " was killed at an unknown time after its last call."
                               : " were killed at unknown times after their last calls.");
  }
  if (traceless.size() == reports.size()) {
    return "For the exact value, record traces: vramscope run --trace '%p.trace'";
  }
  if (!traceless.empty()) return "Not exact: no trace of " + names_text(traceless) + ".";
  for (const DeviceSum& sum : sums) {
    if (!sum.not_whole || *sum.not_whole >= reports.size()) continue;
    return "Not exact: the trace of " + names_text({&reports[*sum.not_whole]}) +
           " is incomplete, or belongs to another report.";
  }
  return "Not exact: the traces are of several hosts, or of one that rebooted in between.";
}

// "4 processes, "; where others are on other devices "2 processes: rank 0 (4711), rank 1 (4712); ".
std::string whose_text(const DeviceSum& sum, const std::vector<ReportOfProcess>& reports,
                       const Page& page) {
  std::vector<const ReportOfProcess*> all;
  for (const std::size_t which : sum.processes) all.push_back(&reports[which]);
  const bool is_part = all.size() < reports.size();
  if (is_part && all.size() == 1) return names_text(all) + ", ";
  const std::string count = count_text(all.size()) + (all.size() == 1 ? " process" : " processes");
  return is_part ? count + ": " + names_text(all, page.cuts ? kNamed : all.size()) + "; "
                 : count + ", ";
}

// The peak of the last one that is shown.
std::uint64_t least_shown(const std::vector<DeviceSum>& sums, std::size_t most) {
  if (sums.size() <= most || most == 0) return 0;
  std::vector<std::uint64_t> peaks;
  for (const DeviceSum& sum : sums) peaks.push_back(sum.upper);
  std::sort(peaks.begin(), peaks.end(), std::greater<>());
  return peaks[most - 1];
}

}  // namespace

std::string names_text(const std::vector<const ReportOfProcess*>& some, std::size_t most) {
  std::string names;
  for (std::size_t i = 0; i < std::min(most, some.size()); ++i) {
    names += (i == 0 ? "" : ", ") + named_process(some[i]->process.process);
  }
  return some.size() <= most ? names
                             : names + " and " + std::to_string(some.size() - most) + " more";
}

Document sums_text(const std::vector<DeviceSum>& sums, const std::vector<ReportOfProcess>& reports,
                   const Page& page, std::size_t most) {
  Document text;
  if (sums.empty()) return text;
  text.gap();
  text.title("Together on each device, requested bytes");
  const std::uint64_t least = least_shown(sums, most);
  std::size_t shown = 0, left_out = 0;
  bool has_bounds = false, has_traces = false;
  bool has_clocks = false;
  for (const DeviceSum& sum : sums) {
    has_bounds = has_bounds || sum.lower != sum.upper;
    has_traces = has_traces || sum.is_partly_traced;
    has_clocks = has_clocks || sum.host.empty();
    if (sum.upper < least || shown == most) {
      ++left_out;
      continue;
    }
    ++shown;
    std::string name = sum.label;
    bool has_several = false;
    for (std::size_t i = 0; i < sum.processes.size(); ++i) {
      const MergedProcess& process = reports[sum.processes[i]].process;
      has_several = has_several || has_several_kinds(process, sum.ordinals[i]);
    }
    if (has_several) name += ", all kinds";
    text.paragraph(name + "  " + whose_text(sum, reports, page) + sum_text(sum));
  }
  if (left_out != 0) text.paragraph("and " + counted(left_out, "more GPU"));
  if (has_bounds) {
    text.paragraph(std::string("The bounds come from the buckets of the timelines") +
                   (has_traces ? " and the available traces." : "."));
    text.paragraph(why_bounds(sums, reports));
  }
  if (has_clocks) text.paragraph("Vramscope assumes that the clocks of all hosts agree.");
  return text;
}

}  // namespace vramscope
