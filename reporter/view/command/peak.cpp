// vramscope peak: what made the peak of each kind of memory.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/command/show.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/peak_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 10;

// What was live when all kinds of memory together were at their peak, the report's trace tells.
void lead_to_trace(OneReport& given, const Report& report) {
  if (given.is_one_of_several || !report.joint_peaks.empty() || report.joint_bounds.empty()) return;
  const std::string trace = whole_trace_of(given.file, report);
  if (trace.empty()) return;
  given.next = "peak";
  given.next_file = trace;
}

int show_peak(OneReport& given) {
  const NameFrame name = names_from_symbols(given.stacks.shown);
  const auto found_in = [&](const Report& report) {
    PeakAnswer answer = peak_answer(report, name);
    arrange_live(answer, report, name, given.listing.rows());
    return answer;
  };
  const auto text = [&](const Report& report, const Page& page) {
    lead_to_trace(given, report);
    RowChoice rows = given.listing.rows();
    // What was allocated before is not among them, though it was live, too.
    if (given.filter.has_times()) rows.live_title = "ALLOCATED IN THAT TIME, LIVE AT ITS PEAK";
    return peak_text(report, found_in(report), name, page, rows);
  };
  const auto json = [&](const Report& report) {
    return peak_json(report, found_in(report), name, given.listing.most);
  };
  const auto csv = [&](const Report& report, CsvText& rows) {
    add_peak_csv(rows, report, found_in(report), name, given.listing.most);
  };
  given.columns = {names_of(share_columns(Report(), {}))};
  given.next = given.stacks.shown == Stacks::in_rows   ? "peak --tree"
               : given.stacks.shown == Stacks::as_tree ? "peak --full"
                                                       : "owners";
  return show(given, {text, json, csv});
}

}  // namespace

Verb add_peak(CommandLine& line) {
  auto arguments = std::make_shared<OneReport>();
  Command& command = line.add_verb("peak", "Explain the peak of each kind of memory");
  arguments->use = {.measure = Measure::peak,
                    .inputs = Inputs::both,
                    .row_is_of_memory = true,
                    .of_a_trace = "peak"};
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  arguments->fits_screen = true;
  arguments->prepare = add_joint_bounds;
  add_layout_options(command, arguments->stacks);
  add_filters(command, arguments->filter, arguments->use);
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.footer(
      "Examples:\n"
      "  vramscope peak vramscope.train.4711.json             when it was, and what was live then\n"
      "  vramscope peak --tree vramscope.train.4711.json      from main down to each allocation\n"
      "  vramscope peak --full -n 1 vramscope.train.4711.json the whole stack of the largest\n"
      "  vramscope peak --range forward train.4711.trace      in one NVTX range (run --trace)");
  return {.command = &command, .act = [arguments] { return show_peak(*arguments); }};
}

}  // namespace vramscope
