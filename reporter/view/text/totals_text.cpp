// Adds up what a report's call sites allocated.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/totals_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/allocating_threads.h"
#include "reporter/view/analysis/free_calls.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

struct Sums {
  TemporaryShare temporary;
  std::uint64_t ns = 0;
  std::uint64_t live_bytes = 0;  // of values of an axis
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

bool is_by_axis(const Report& report) { return report.chosen && report.chosen->axis; }

Sums sums_of(const Report& report) {
  return is_by_axis(report) ? sums_of_axis(report, *report.chosen->axis) : sums_of_sites(report);
}

std::string time_of(const Report& report, std::uint64_t ns) {
  const ProcessFacts& process = report.process;
  if (ns == 0) return "";  // nobody measured it
  std::string text = "; allocating took " + duration_text(ns);
  if (is_of_several(report)) return text + ", summed over all processes";
  const std::optional<std::size_t> threads = allocating_threads(report);
  if (!threads) return text + ", summed over all threads";
  if (*threads > 1) return text + ", summed over " + counted(*threads, "thread");
  const std::uint64_t loaded_ns =
      process.report_time_ns - std::min(process.report_time_ns, process.start_time_ns);
  // As the head of a report has it.
  const bool has_first_call = report.timeline.start_ns != 0;
  const std::uint64_t run_ns = has_first_call ? report.timeline.duration_ns : loaded_ns;
  if (run_ns == 0 || process.start_time_ns == 0) return text;
  if (ns <= run_ns) {
    return text + ", " + percent_text(ns, run_ns) + " of the run's " + duration_text(run_ns);
  }
  if (ns > loaded_ns) return text;  // time 0 was the first allocation's end
  return text + ", " + percent_text(ns, loaded_ns) + " of the " + duration_text(loaded_ns) +
         " since the library was loaded";
}

// "; 20,000 frees took 341 ms", "; 13,171 calls to free memory took 341 ms and freed 13,167
// allocations"; "": none took time, or a filter left calls out.
std::string frees_of(const Report& report) {
  if (report.chosen) return "";
  const AllFrees all = all_frees(report);
  if (all.total_ns == 0) return "";
  const std::string calls = "; " + counted(all.calls, "call");
  const std::string took = " took " + duration_text(all.total_ns);
  if (all.calls == all.frees) return "; " + counted(all.frees, "free") + took;
  if (all.frees == 0 && report.unrecorded_calls == 0) return calls + " that freed nothing" + took;
  if (all.calls < all.frees || all.frees == 0) return calls + " to free memory" + took;
  return calls + " to free memory" + took + " and freed " + counted(all.frees, "allocation");
}

std::string peaks_of(const Report& report) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  const std::string first = peak_word(report) + (is_choice ? " of " : " ");
  std::string text;
  for (const KindFacts& kind : kinds_by_peak(report)) {
    text += (text.empty() ? first : ", ") + memory_name(report, kind.kind, kind.device) + " " +
            bytes_text(kind.peak_bytes) + of_all_text(report, kind);
  }
  return text + (text.empty() ? "" : " (requested bytes)");
}

// Sums by axis do not tell what stays by design.
std::string alive_text(const Report& report, const Sums& sums) {
  if (sums.live_count == 0) return all_freed_phrase(report);
  return bytes_text(sums.live_bytes) + " in " + counted(sums.live_count, "allocation") +
         " live at its end";
}

std::string alive_text(const Report& report, const Leaked& leaked) {
  const std::uint64_t bytes = leaked_bytes(leaked.leaks);
  const std::uint64_t kept = cached_bytes(leaked.leaks) + suppressed_bytes(leaked.leaks);
  const std::string by_design =
      kept == 0 ? "" : amount_text(kept) + " that caches and libraries keep";
  if (bytes == 0 && kept == 0) return all_freed_phrase(report);
  const std::string text = never_freed_phrase(report) + ": ";
  if (bytes == 0) return text + "only " + by_design;
  std::uint64_t count = 0;
  for (const Share& share : leaked.shares) count += share.count;
  return text + amount_text(bytes) + (count == 0 ? "" : " in " + counted(count, "allocation")) +
         (kept == 0 ? "" : ", and " + by_design);
}

// A share is one of those that are counted here, or these are named.
std::string temporary_text(const Sums& sums, std::uint64_t allocations) {
  const TemporaryShare& share = sums.temporary;
  if (share.allocations == 0) return "";
  const std::string of = share.allocations == allocations
                             ? ""
                             : " of " + count_text(share.allocations) + " known ones";
  return ", " + count_text(share.temporary) + of + " temporary (" +
         percent_text(share.temporary, share.allocations) +
         (share.counts_last && share.temporary != 0
              ? "; these include a thread's last allocation if it was freed"
              : "") +
         ")";
}

// `leaked`: gives what was never freed.
template <class LeakedOf>
Document totals(const Report& report, const LeakedOf& leaked) {
  Document text;
  std::uint64_t allocations = 0;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind)) allocations += kind.allocations;
  }
  const Sums sums = sums_of(report);
  if (allocations == 0 && sums.temporary.allocations == 0) return text;
  text.gap();
  text.paragraph("Total: " + counted(allocations, "allocation") +
                 temporary_text(sums, allocations) + time_of(report, sums.ns) + frees_of(report));
  std::string peaks = peaks_of(report);
  if (tells_frees(report)) {
    peaks += (peaks.empty() ? "" : "; ") +
             (is_by_axis(report) ? alive_text(report, sums) : alive_text(report, leaked()));
  }
  text.paragraph(peaks);
  return text;
}

}  // namespace

Document totals_text(const Report& report, const NameFrame& name) {
  return totals(report, [&] { return leaked_of(report, name); });
}

Document totals_text(const Report& report, const Leaked& leaked) {
  return totals(report, [&]() -> const Leaked& { return leaked; });
}

}  // namespace vramscope
