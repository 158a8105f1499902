// Adds up what a report's call sites allocated.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/totals_text.h"

#include <algorithm>
#include <cstdint>

#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"

namespace vramscope {
namespace {

struct Sums {
  std::uint64_t stacks = 0;  // allocations of which it is known how long they lived
  std::uint64_t temporary = 0;
  std::uint64_t ns = 0;
};

Sums sums_of(const Report& report) {
  Sums sums;
  for (const Site& site : report.sites) {
    sums.stacks += site.totals.total_count;
    sums.temporary += site.temporary_count;
    sums.ns += site.totals.total_ns;
  }
  return sums;
}

std::string time_of(const Report& report, std::uint64_t ns) {
  const ProcessFacts& process = report.process;
  std::string text = duration_text(ns) + " in them";
  if (process.start_time_ns == 0 || process.report_time_ns <= process.start_time_ns) return text;
  const std::uint64_t run_ns = process.report_time_ns - process.start_time_ns;
  return text + ", " + percent_text(ns, run_ns) + " of the run's " + duration_text(run_ns);
}

std::string peaks_of(const Report& report) {
  const char* const first = report.processes.size() > 1 ? "sum of peaks " : "peak ";
  std::string text;
  for (const KindFacts& kind : kinds_by_peak(report)) {
    text += (text.empty() ? first : ", ") + memory_text(kind.kind, kind.device) + " " +
            bytes_text(static_cast<std::int64_t>(kind.peak_bytes));
  }
  return text;
}

std::string alive_text(const Report& report) {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (const Share& share : shares_alive(report)) {
    bytes += share.bytes;
    count += share.count;
  }
  if (count == 0) return is_final(report) ? "all of it was freed" : "nothing allocated now";
  const std::string when = is_final(report) ? "never freed " : "still allocated ";
  return when + bytes_text(static_cast<std::int64_t>(bytes)) + " in " +
         counted(count, "allocation");
}

}  // namespace

std::string totals_text(const Report& report, const Page& page) {
  std::uint64_t allocations = 0;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind)) allocations += kind.allocations;
  }
  const Sums sums = sums_of(report);
  if (allocations == 0 && sums.stacks == 0) return "";
  const std::string calls = "Total: " + counted(allocations, "allocation") + ", " +
                            count_text(static_cast<std::int64_t>(sums.temporary)) + " temporary (" +
                            percent_text(sums.temporary, sums.stacks) + "); " +
                            time_of(report, sums.ns);
  const std::string peaks = peaks_of(report);
  const std::string bytes = peaks + (peaks.empty() ? "" : "; ") + alive_text(report);
  return "\n" + paragraph(calls, page) + paragraph(bytes, page);
}

}  // namespace vramscope
