// Adds up what a report's call sites allocated.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/totals_text.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

struct Sums {
  TemporaryShare temporary;
  std::uint64_t ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
};

Sums sums_of_sites(const Report& report) {
  Sums sums;
  const bool is_choice = report.chosen && report.chosen->by_rows;
  sums.temporary = temporary_share(report);
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {  // not of views, which are no allocations
      if (!holds_memory(part.kind)) continue;
      sums.ns += is_choice ? numbers_of(part).total_ns : part.totals.total_ns;
    }
  }
  for (const Share& share : shares_alive(report)) {
    sums.live_bytes += share.bytes;
    sums.live_count += share.count;
  }
  return sums;
}

Sums sums_of_axis(const Report& report, Axis axis) {
  Sums sums;
  for (const AxisEntry& row : report.axes) {
    if (row.axis != axis || !holds_memory(row.kind)) continue;
    sums.ns += row.totals.total_ns;
    sums.live_bytes += row.totals.live_bytes;
    sums.live_count += row.totals.live_count;
  }
  return sums;
}

Sums sums_of(const Report& report) {
  const bool by_axis = report.chosen && report.chosen->axis;
  return by_axis ? sums_of_axis(report, *report.chosen->axis) : sums_of_sites(report);
}

// Those whose allocations were counted; "others" counts as one.
std::size_t threads_of(const Report& report) {
  std::set<std::string_view> threads;
  for (const AxisEntry& row : report.axes) {
    if (row.axis == Axis::thread && holds_memory(row.kind) && row.totals.total_count != 0)
      threads.insert(row.value);
  }
  return threads.size();
}

std::string time_of(const Report& report, std::uint64_t ns) {
  const ProcessFacts& process = report.process;
  if (ns == 0) return "";  // nobody measured it
  std::string text = "; " + duration_text(ns) + " in them";
  if (is_of_several(report)) return text + ", of all processes added";
  if (const std::size_t threads = threads_of(report); threads > 1) {
    return text + ", of " + counted(threads, "thread") + " added";
  }
  std::uint64_t run_ns = report.timeline.duration_ns;
  if (run_ns < ns) {  // of before, or time 0 was the first allocation's end
    run_ns = process.report_time_ns - std::min(process.report_time_ns, process.start_time_ns);
  }
  if (run_ns == 0 || process.start_time_ns == 0) return text;
  if (ns > run_ns) return text + ", of all threads added";  // which the report does not list
  return text + ", " + percent_text(ns, run_ns) + " of the run's " + duration_text(run_ns);
}

// ", and 341 ms in 20,000 frees"; "": none took time, or a filter left calls out.
std::string frees_of(const Report& report) {
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;
  for (const FunctionFacts& function : report.functions) {
    if (report.chosen || !function.name.starts_with("cuMemFree")) continue;
    calls += function.totals.calls;
    ns += function.totals.time.total_ns;
  }
  return ns == 0 ? "" : ", and " + duration_text(ns) + " in " + counted(calls, "free");
}

std::string peaks_of(const Report& report) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  const std::string first = peak_word(report) + (is_choice ? " of " : " ");
  std::string text;
  for (const KindFacts& kind : kinds_by_peak(report)) {
    text += (text.empty() ? first : ", ") + memory_name(kind.kind, kind.device) + " " +
            bytes_text(kind.peak_bytes) + of_all_text(report, kind);
  }
  return text + (text.empty() ? "" : " (requested bytes)");
}

std::string alive_text(const Report& report, const Sums& sums) {
  if (sums.live_count == 0) return all_freed_phrase(report);
  return never_freed_phrase(report) + ": " + bytes_text(sums.live_bytes) + " in " +
         counted(sums.live_count, "allocation");
}

std::string temporary_text(const Sums& sums) {
  const TemporaryShare& share = sums.temporary;
  if (share.allocations == 0) return "";
  return ", " + count_text(share.temporary) + " temporary (" +
         percent_text(share.temporary, share.allocations) + ")";
}

}  // namespace

std::string totals_text(const Report& report, const Page& page) {
  if (page.brevity != Brevity::none) return "";  // it adds up what stands above
  std::uint64_t allocations = 0;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind)) allocations += kind.allocations;
  }
  const Sums sums = sums_of(report);
  if (allocations == 0 && sums.temporary.allocations == 0) return "";
  const std::string calls = "Total: " + counted(allocations, "allocation") + temporary_text(sums) +
                            time_of(report, sums.ns) + frees_of(report);
  const std::string peaks = peaks_of(report);
  const std::string bytes = peaks + (peaks.empty() ? "" : "; ") + alive_text(report, sums);
  return "\n" + paragraph(calls, page) + paragraph(bytes, page);
}

}  // namespace vramscope
