// Sums over the whole process: by kind, owner, axis and function, over time, and refusals.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/export/tables/table.h"

namespace vramscope {
namespace {

Columns<KindFacts> kind_columns() {
  Columns<KindFacts> columns = place_columns<KindFacts>(&KindFacts::kind, &KindFacts::device);
  append(columns,
         {{"current_bytes", "requested, live", &KindFacts::current_bytes},
          {"peak_bytes", "the most requested bytes that were live at one time",
           &KindFacts::peak_bytes},
          {"peak_ns", "time of the peak, after `start_ns` of the process", &KindFacts::peak_ns},
          {"peak_site", "site of the allocation that made the peak; null: unknown",
           [](const KindFacts& kind) { return if_known(kind.peak_site); }},
          {"allocations", "number of allocations", &KindFacts::allocations},
          {"frees", "number of frees", &KindFacts::frees}});
  return columns;
}

Columns<LedgerEntry> ledger_columns() {
  return {{"device", "number of the GPU; null: memory of the host",
           [](const LedgerEntry& row) {
             return device_of(kind_of(row.kind).value_or(Kind::device), row.device);
           }},
          {"kind", "kind of memory, or `cached`, `unaccounted`, `others`",
           [](const LedgerEntry& row) { return harmless(row.kind); }},
          {"owner", "program or library whose code requested it, or the driver's purpose",
           [](const LedgerEntry& row) { return harmless(row.owner); }},
          {"current_bytes", "requested, live", &LedgerEntry::current_bytes},
          {"peak_bytes", "this owner's own peak of the kind", &LedgerEntry::peak_bytes},
          {"calls", "successful allocations", &LedgerEntry::calls},
          {"device_bytes", "its share of the device's used memory", &LedgerEntry::device_bytes}};
}

Columns<AxisEntry> axis_columns() {
  const auto of = [](std::uint64_t SiteTotals::*member) {
    return [member](const AxisEntry& row) { return row.totals.*member; };
  };
  Columns<AxisEntry> columns = {{"axis", "what memory is divided by: owner, thread, stream, range",
                                 &AxisEntry::axis, OneOf(kAxisNames)},
                                {"value", "the owner, thread, stream or range",
                                 [](const AxisEntry& row) { return harmless(row.value); }}};
  append(columns, place_columns<AxisEntry>(&AxisEntry::kind, &AxisEntry::device));
  append(columns,
         {{"live_bytes", "requested, live", of(&SiteTotals::live_bytes)},
          {"peak_bytes", "live at the peak of the kind and device", of(&SiteTotals::peak_bytes)},
          {"own_peak_bytes", "the most that it ever held", &AxisEntry::own_peak_bytes},
          {"total_bytes", "requested bytes ever allocated", of(&SiteTotals::total_bytes)},
          {"total_count", "number of allocations in the whole run", of(&SiteTotals::total_count)}});
  return columns;
}

Columns<FunctionFacts> function_columns() {
  return {{"name", "function of the driver",
           [](const FunctionFacts& row) { return harmless(row.name); }},
          {"calls", "number of calls", [](const FunctionFacts& row) { return row.totals.calls; }},
          {"failures", "of these, those that failed",
           [](const FunctionFacts& row) { return row.totals.failures; }},
          {"total_ns", "time in all calls",
           [](const FunctionFacts& row) { return row.totals.time.total_ns; }},
          {"max_ns", "the longest call",
           [](const FunctionFacts& row) { return row.totals.time.max_ns; }}};
}

struct TimelineRow {
  Kind kind;
  std::uint16_t device;
  std::uint64_t start_ns, highest_bytes, last_bytes;
};
Columns<TimelineRow> timeline_columns() {
  Columns<TimelineRow> columns =
      place_columns<TimelineRow>(&TimelineRow::kind, &TimelineRow::device);
  append(columns, {{"start_ns", "beginning of the interval, after `start_ns` of the process",
                    &TimelineRow::start_ns},
                   {"highest_bytes", "the most requested bytes that were live in it",
                    &TimelineRow::highest_bytes},
                   {"last_bytes", "live at its end", &TimelineRow::last_bytes}});
  return columns;
}
template <class Add>
void each_interval(TableSource& source, const Add& add) {
  for (const TimelineSeries& series : source.report().timeline.series) {
    for (std::size_t i = 0; i < series.highest.size() && i < series.last.size(); ++i) {
      add(TimelineRow{series.kind, series.device, i * series.bucket_ns, series.highest[i],
                      series.last[i]});
    }
  }
}

Columns<OomEvent> refusal_columns() {
  const auto if_looked_at = [](std::uint64_t OomEvent::*member) {
    return [member](const OomEvent& one) {
      return one.has_details ? std::optional(one.*member) : std::nullopt;
    };
  };
  Columns<OomEvent> columns = {
      {"number", "1: the process's first; the first 16 and the last have a row", &OomEvent::number},
      {"at_ns", "after `start_ns` of the process", &OomEvent::time_ns},
      {"function", "that was called", [](const OomEvent& one) { return harmless(one.function); }}};
  append(columns, place_columns<OomEvent>(&OomEvent::kind, &OomEvent::device));
  append(columns, {{"bytes", "requested; null: not known",
                    [](const OomEvent& one) { return if_not_zero(one.bytes); }},
                   {"site", "that requested; null: unknown",
                    [](const OomEvent& one) { return if_known(one.site); }},
                   {"by_limit", "the limit of `--device-memory-limit` refused, not the driver",
                    &OomEvent::by_limit},
                   {"free_bytes", "free on the GPU, as the driver says; null: nobody looked",
                    if_looked_at(&OomEvent::free_bytes)},
                   {"reserved_bytes", "in segments; null: nobody looked",
                    if_looked_at(&OomEvent::reserved_bytes)},
                   {"allocated_bytes", "of these, in blocks in use; null: nobody looked",
                    if_looked_at(&OomEvent::allocated_bytes)},
                   {"outside_bytes", "used by nothing that is recorded; null: nobody looked",
                    if_looked_at(&OomEvent::outside_bytes)}});
  return columns;
}

template <class Row>
ExportTable members_table(TableFacts facts, Columns<Row> columns,
                          std::vector<Row> Report::*member) {
  return table_of_rows<Row>(std::move(facts), std::move(columns),
                            [member](TableSource& source, const auto& add) {
                              for (const Row& row : source.report().*member) add(row);
                            });
}

}  // namespace

void add_total_tables(std::vector<ExportTable>& tables) {
  tables.push_back(members_table({"kinds", "a kind of memory on a GPU or of the host", {}},
                                 kind_columns(), &Report::kinds));
  tables.push_back(members_table({"ledger", "memory of one kind and owner", {}}, ledger_columns(),
                                 &Report::ledger));
  tables.push_back(members_table({"axes", "memory of one owner, thread, stream or range", {}},
                                 axis_columns(), &Report::axes));
  tables.push_back(members_table({"functions", "a function of the driver", {}}, function_columns(),
                                 &Report::functions));
  tables.push_back(table_of_rows<TimelineRow>(
      {"timeline", "an interval of the run, of one kind and device", {}}, timeline_columns(),
      [](TableSource& source, const auto& add) { each_interval(source, add); }));
  tables.push_back(members_table<NamedInstant>(
      {"marks", "an instant that the program marked", {}},
      {{"at_ns", "after `start_ns` of the process", &NamedInstant::time_ns},
       {"name", "of the mark", [](const NamedInstant& mark) { return harmless(mark.name); }}},
      &Report::marks));
  tables.push_back(
      table_of_rows<OomEvent>({"refusals", "an allocation that failed because memory ran out", {}},
                              refusal_columns(), [](TableSource& source, const auto& add) {
                                for (const OomEvent& one : source.report().oom.events) add(one);
                              }));
}

}  // namespace vramscope
