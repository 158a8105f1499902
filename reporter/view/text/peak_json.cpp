// What made the peaks as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/report.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/own_time.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/peak_use_text.h"

namespace vramscope {

void arrange_live(PeakAnswer& answer, const Report& report, const NameFrame& name,
                  const RowChoice& choice) {
  for (auto* const rows : {&answer.kinds, &answer.joint}) {
    for (PeakOfKind& row : *rows) arrange(row.live, share_columns(report, name), choice);
  }
}

Column<PeakOfKind> axis_field(Axis axis, const std::string& by, const std::string& when,
                              AllKinds all) {
  const bool has_all = axis == Axis::owner || all == AllKinds::have_no_rows;
  Field field{.name = std::string(kAxisNames[static_cast<std::size_t>(axis)]),
              .doc = "requested bytes live " + when + ", by " + by +
                     (has_all ? "" : "; `null` in the row `all`"),
              .type = "numbers",
              .may_be_null = !has_all,
              .unit = "bytes"};
  return {std::move(field), [axis, has_all](JsonText& json, const PeakOfKind& row) {
            if (row.joint != nullptr && !has_all) {
              json.null();
              return;
            }
            json.object();
            for (const AxisEntry& entry : row.values_of(axis)) {
              json.field(entry.value, entry.totals.peak_bytes);
            }
            json.end();
          }};
}

namespace {

// Of all kinds together only owners are known.
Column<PeakOfKind> axis_field(Axis axis, const char* by) {
  return axis_field(axis, by, "at the peak", AllKinds::may_have_rows);
}

// What several processes held together at one time; of a choice of rows nobody knows.
std::optional<std::uint64_t> bound(const Report& report, std::uint64_t bytes) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  return is_choice && is_of_several(report) ? std::nullopt : std::optional(bytes);
}

Columns<PeakOfKind> figures_of_peak(const Report& report) {
  using Row = PeakOfKind;
  const auto of = within(&Row::kind);
  const auto kind = [](const Row& row) {
    return row.joint != nullptr ? "all" : kKindNames[static_cast<std::size_t>(row.kind.kind)];
  };
  const SiteCells cells(report, {});
  Columns<Row> columns{
      {"kind",
       "kind of memory, as in reports. `all` comes last: all kinds of one GPU together, if it "
       "had several",
       kind, OfType("kind_or_all")},
      device_column<Row>(of(&KindFacts::device)),
      {"peak_bytes", "requested bytes at the peak", of(&KindFacts::peak_bytes)},
      {"current_bytes", "requested, live at the report", of(&KindFacts::current_bytes)},
      {"peak_ns",
       "time of the peak, after time 0 (the start of recording; in a merged report, the start "
       "in the first process)",
       of(&KindFacts::peak_ns)},
      {"process_peak_ns",
       "the same, but after the start of recording in the process with the highest peak, as in "
       "that process's own report",
       [&report](const Row& row) { return own_peak_ns(report, row.kind); }},
      {"processes",
       "number of processes whose peaks, each at its own time, are added in `peak_bytes`; 1: "
       "not merged",
       [](const Row& row) { return row.added.processes; }},
      {"together_lower_bytes",
       "lower bound of what they held together at one time, from their timelines; `null`: not "
       "known for a selection of rows",
       [&report](const Row& row) { return bound(report, row.added.together.peak.lower); }},
      {"together_upper_bytes", "the same, at most",
       [&report](const Row& row) { return bound(report, row.added.together.peak.upper); }},
      {"peak_thread", "thread that made the allocation at the peak; empty: unknown",
       of(&KindFacts::peak_thread)},
      {"peak_range", "NVTX range of that allocation", of(&KindFacts::peak_range)},
      {"peak_site", "site of that allocation; `null`: unknown",
       [cells](const Row& row) { return cells.number(row.kind.peak_site); }}};
  need_history(columns,
               {"peak_bytes", "peak_ns", "process_peak_ns", "together_lower_bytes",
                "together_upper_bytes", "peak_site"},
               run_history(report));
  return columns;
}

}  // namespace

Columns<PeakOfKind> peak_fields(const Report& report, const NameFrame& name, std::size_t most) {
  Columns<PeakOfKind> fields = figures_of_peak(report);
  append(fields,
         {{"live",
           "sites live at the peak, the largest first; of a snapshot without history, live then",
           share_columns(report, name),
           [most](const PeakOfKind& row) { return first_rows(row.live, most); }},
          axis_field(Axis::owner, "owner"),
          axis_field(Axis::thread, "thread"),
          axis_field(Axis::stream, "stream"),
          axis_field(Axis::range, "range"),
          axis_field(Axis::function, "function of CUDA's driver"),
          axis_field(Axis::size_class, "size class"),
          {"device_use",
           "parts of the GPU's use at the peak, which add up to what nvidia-smi counts. "
           "One row of each GPU has them: `all`, or its only kind. Empty in other rows, "
           "for several processes, and with filters",
           peak_use_columns(), &PeakOfKind::use}});
  return fields;
}

std::string peak_json(const Report& report, const PeakAnswer& answer, const NameFrame& name,
                      std::size_t most) {
  std::vector<PeakOfKind> rows = answer.kinds;
  rows.insert(rows.end(), answer.joint.begin(), answer.joint.end());
  return json_of(rows, peak_fields(report, name, most));
}

void add_live_csv(CsvText& csv, const Report& report, const std::vector<PeakOfKind>& kinds,
                  const NameFrame& name, std::size_t most) {
  const Columns<Share> columns = share_columns(report, name);
  csv.titles(names_of(columns));
  for (const PeakOfKind& row : kinds) add_rows(csv, row.live, columns, most);
}

}  // namespace vramscope
