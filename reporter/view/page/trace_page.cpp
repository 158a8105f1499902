// Reads a trace for its totals, then for its parts, then for its maps.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/trace_page.h"

#include <algorithm>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_details.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/page/page.h"
#include "reporter/view/page/trace_maps.h"
#include "reporter/view/page/trace_refusals.h"
#include "reporter/view/page/trace_windows.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/trace_timeline.h"

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

TracePage trace_page(TraceReader& reader, const TracePageOf& of) {
  const NameFrame name = names_from_symbols();
  const TraceTimeline timeline = trace_timeline(reader, {}, of.filter, name);
  TracePage result{.page = "", .missing = timeline.missing, .problem = timeline.problem};
  if (!result.missing.empty() || !result.problem.empty()) return result;
  const auto read = [&](const auto& add) {
    const bool is_good = reader.read(TraceReader::Order::by_change, add);
    if (!is_good) result.problem = reader.problem();
    return is_good;
  };
  const TraceFilter those = trace_filter(reader.names(), of.filter, name);
  TraceTotals totals(those);
  if (!read([&](const TraceEvent& event) { totals.add(event); })) return result;
  totals.finish();
  Report report = report_of_trace(reader.names(), totals);
  const std::vector<std::size_t> sites = choose_frames(report, of.stacks);
  TraceRefusals refusals(reader.names(), those, totals.begin_ns, sites);
  TraceWindows windows(totals.begin_ns, totals.end_ns, highest_memory(totals), those, [&](Tag tag) {
    return sites[std::min(site_of_tag(reader.names(), tag), sites.size() - 1)];
  });
  const auto add = [&](const TraceEvent& event) {
    windows.add(event);
    refusals.add(event);
  };
  if (!read(add)) return result;
  windows.finish();
  report.oom = refusals.finish();
  TraceMaps maps({.names = reader.names(),
                  .segments = reader.segments(),
                  .filter = those,
                  .first_ns = totals.begin_ns,
                  .sites = sites,
                  .windows = windows,
                  .live_count = blocks_at_peaks(report)});
  if (!read([&](const TraceEvent& event) { maps.add(event); })) return result;
  maps.finish();
  DetailedReport detailed = detailed_report(reader, of.filter, name);
  if (!(result.problem = detailed.problem).empty()) return result;
  choose_frames(detailed.report, of.stacks);
  result.page = page_text({.path = of.path,
                           .report = report,
                           .timeline = timeline.timeline,
                           .places = maps.places(),
                           .places_moment = "at the peak",
                           .map = maps.map(),
                           .windows = &windows,
                           .detailed = &detailed.report,
                           .filter = filter_text(of.filter),
                           .window = of.window},
                          name);
  return result;
}

}  // namespace vramscope
