// Reads a trace for its totals, then for its parts, then for its maps.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/trace_page.h"

#include <algorithm>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_details.h"
#include "reporter/view/analysis/replay/trace_refusals.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_timeline.h"
#include "reporter/view/page/page.h"
#include "reporter/view/page/trace_maps.h"
#include "reporter/view/text/filter_text.h"

namespace vramscope {
namespace {

TracePlace highest_memory(const TraceTotals& totals) {
  TracePlace highest{Kind::device, std::uint16_t{0}};
  std::uint64_t bytes = 0;
  for (const auto& [where, kind] : totals.kinds) {
    if (!holds_memory(where.first) || kind.held.peak_bytes <= bytes) continue;
    bytes = kind.held.peak_bytes;
    highest = where;
  }
  return highest;
}

std::uint64_t blocks_at_peaks(const Report& report) {
  std::uint64_t count = 0;
  for (const Site& site : report.sites) count += site.totals.peak_count;
  return count;
}

}  // namespace

std::optional<std::string> trace_page(TraceFollower& trace, const TracePageOf& of) {
  TraceTotals totals;
  JointPeaks joint;
  const std::unique_ptr<TraceDetails> details = trace_details(trace.names());
  if (!trace.follow({&totals, &joint, details.get()})) return std::nullopt;
  totals.finish();
  Report report = report_of_trace(trace, totals);
  Report detailed = details->report(trace, of.filter, totals, joint);
  const std::vector<std::size_t> sites = choose_frames(report, of.stacks);
  choose_frames(detailed, of.stacks);
  TraceTimeline curves(trace, {});
  TraceRefusals refusals(trace.names(), sites);
  TraceWindows windows(trace.length_ns(), highest_memory(totals), [&](Tag tag) {
    return sites[std::min(site_of_tag(trace.names(), tag), sites.size() - 1)];
  });
  if (!trace.follow({&curves, &windows, &refusals})) return std::nullopt;
  windows.finish();
  report.oom = refusals.finish();
  const RunTimeline timeline = curves.finish(totals, joint);
  TraceMaps maps(
      {.trace = trace, .sites = sites, .windows = windows, .live_count = blocks_at_peaks(report)});
  if (!trace.follow({&maps, &maps.segments()})) return std::nullopt;
  maps.finish();
  return page_text({.path = of.path,
                    .report = report,
                    .timeline = timeline,
                    .places = maps.places(),
                    .places_moment = "at the peak",
                    .map = maps.map(),
                    .advice = of.advice,
                    .fit = of.fit,
                    .windows = &windows,
                    .detailed = &detailed,
                    .filter = filter_text(of.filter),
                    .window = of.window},
                   names_from_symbols());
}

}  // namespace vramscope
