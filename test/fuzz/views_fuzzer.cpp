// Reports that a fuzzer makes, shown in every way.
// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/axis_text.h"
#include "reporter/view/text/map_text.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/stats_text.h"
#include "reporter/view/text/timeline_text.h"
#include "test/fuzz/fuzzed_file.h"

namespace vramscope {
namespace {

// Not by symbols: the files that a report names are those of this machine.
std::vector<SourceFrame> unnamed(const Report&, const FrameFact&) { return {}; }

void show(Report report) {
  constexpr std::size_t kRows = 3;
  const Page page{.width = 80, .unicode = true};
  choose_frames(report, {});
  JsonText json;
  report_json(json, report, "r.json", unnamed, kRows);
  demand_harmless(json.text());
  const ShownReport shown{report, "r.json", leaked_of(report, unnamed)};
  demand_harmless(render(report_text(shown, unnamed, page, kRows), page));
  demand_harmless(render(owners_text(report, owners_answer(report, {}), page, kRows), page));
  demand_harmless(owners_json(report, kRows));
  for (const Axis axis : {Axis::range, Axis::thread}) {
    demand_harmless(render(axis_text(report, axis, {}, page, kRows), page));
    demand_harmless(axis_json(report, axis, {}, kRows));
  }
  for (const SiteOrder order : {SiteOrder::growth, SiteOrder::peak}) {
    demand_harmless(render(all_sites_text(report, order, unnamed, page, kRows), page));
    demand_harmless(render(histograms_text(report, order, unnamed, page, kRows), page));
    demand_harmless(
        json_of(sites_in_order(report, order, unnamed, kRows), site_columns(report, unnamed)));
  }
  demand_harmless(render(stats_text(report, {}, page), page));
  const RunTimeline timeline = run_timeline(report, {});
  demand_harmless(render(timeline_text(timeline, {.most = kRows}, page), page));
  demand_harmless(timeline_json(timeline, kRows));
  const MapMoment moment{.text = "at the end", .at_ns = report.timeline.duration_ns};
  const std::vector<MapPlace> places = memory_map(report);
  const std::vector<PlaceAnswer> answer = map_answer(report, places, moment, unnamed);
  demand_harmless(render(map_text(report, answer, moment, unnamed, page, kRows), page));
  demand_harmless(map_json(report, memory_map(report), moment, unnamed, kRows));
  const PeakAnswer peaks = peak_answer(report, unnamed);
  demand_harmless(render(peak_text(report, peaks, unnamed, page, kRows), page));
  demand_harmless(peak_json(report, peaks, unnamed, kRows));
}

}  // namespace
}  // namespace vramscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  const FuzzedFile file({bytes, size});
  auto result = read_report(file.path());
  if (Report* const report = std::get_if<Report>(&result)) show(std::move(*report));
  return 0;
}
