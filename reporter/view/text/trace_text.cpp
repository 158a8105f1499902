// A trace's totals as text and JSON.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/trace_text.h"

#include <algorithm>
#include <numeric>

#include "allocator/base/place.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/tree_text.h"

namespace vramscope {
namespace {

// Those that allocated; who held most at the peak first.
std::vector<std::size_t> sites_in_order(const Report& report) {
  std::vector<std::size_t> sites;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    const SiteTotals& totals = report.sites[i].totals;
    if (totals.total_count != 0 || totals.total_ns != 0) sites.push_back(i);
  }
  std::stable_sort(sites.begin(), sites.end(), [&](std::size_t a, std::size_t b) {
    const SiteTotals& first = report.sites[a].totals;
    const SiteTotals& second = report.sites[b].totals;
    return std::tie(first.peak_bytes, first.total_bytes) >
           std::tie(second.peak_bytes, second.total_bytes);
  });
  return sites;
}

std::string function_name(const TraceNames& names, std::uint16_t function) {
  return function < names.functions.size() ? names.functions[function] : "unknown";
}

using FunctionRow = std::pair<std::string, TraceFunction>;

Columns<FunctionRow> function_row_columns() {
  using Row = FunctionRow;
  const auto of = within(&Row::second);
  return {{"name", "of the driver's function", &Row::first},
          {"calls", "number of its calls", of(&TraceFunction::calls), Titled("CALLS")},
          {"failures", "calls that failed", of(&TraceFunction::failures), Titled("FAILED")},
          {"total_ns", "time in them", of(&TraceFunction::total_ns), Titled("TIME")},
          {{"FUNCTION"}, &Row::first}};
}

std::vector<FunctionRow> functions_in_order(const TraceListing& trace, const RowChoice& choice) {
  std::vector<FunctionRow> functions;
  for (const auto& [number, function] : trace.totals.functions) {
    functions.emplace_back(function_name(trace.followed.names(), number), function);
  }
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.second.calls > b.second.calls; });
  arrange(functions, function_row_columns(), choice);
  return functions;
}

Columns<std::size_t> trace_site_columns(const Report& report, const NameFrame& name) {
  const auto index = [](std::size_t row) { return static_cast<std::int64_t>(row); };
  const auto totals = [&report](std::size_t row) -> const SiteTotals& {
    return report.sites[row].totals;
  };
  return with_site<std::size_t>(report, name, index,
                                totals_columns<std::size_t>(totals, {0, 2, 3, 1, 4}));
}

std::vector<std::size_t> sites_in_order(const Report& report, const NameFrame& name,
                                        const RowChoice& choice) {
  return chosen_rows(sites_in_order(report), trace_site_columns(report, name), choice);
}

std::string tenths(std::uint64_t whole, std::uint64_t parts) {
  if (parts == 0) return "0";
  const std::uint64_t in_tenths = (whole * 10 + parts / 2) / parts;
  return std::to_string(in_tenths / 10) + "." + std::to_string(in_tenths % 10);
}

std::uint64_t begun_at(const TraceListing& trace) {
  return after(trace.followed.begin_ns(), trace.begun_ns.value_or(0));
}

std::string begin_text(const TraceListing& trace) {
  if (*trace.begun_ns == 0) {
    return "it begins amid the run, and ends before it says what was live then";
  }
  return "it begins amid the run, after " + duration_text(begun_at(trace)) + ", with " +
         counted(trace.before_count, "allocation") + " of " + amount_text(trace.before_bytes) +
         " live";
}

Document head_text(const TraceListing& trace) {
  const TraceProcess& process = trace.followed.names().process;
  const TraceTotals& totals = trace.totals;
  const std::uint64_t span = totals.last_ns - totals.first_ns;
  Document text;
  text.line(process.executable, "", Colour::bold);
  text.paragraph("pid " + std::to_string(process.pid) + ", mode " + process.mode + ", " +
                 counted(totals.events, "event") + " in " + duration_text(span) + ", " +
                 counted(totals.threads.size(), "thread"));
  const std::uint64_t events = trace.all_events != 0 ? trace.all_events : totals.events;
  std::string size = bytes_text(trace.bytes) + " with names and stacks, " +
                     tenths(trace.bytes, events) + " bytes an event";
  if (trace.all_events != 0) size += " of all " + count_text(events);
  if (trace.bytes != trace.file_bytes) size += ", compressed to " + bytes_text(trace.file_bytes);
  text.paragraph(size);
  if (trace.begun_ns) text.paragraph(begin_text(trace));
  if (trace.lost != 0) {
    text.paragraph(counted(trace.lost, "event") + " not in the file: it could not be written");
  }
  if (trace.damaged != 0) text.paragraph(counted(trace.damaged, "damaged chunk") + " left out");
  if (!trace.complete) text.paragraph("it " + std::string(kNoEnd));
  text.gap();
  return text;
}

using KindRow = std::pair<TracePlace, TraceKind>;

// Of kinds that were allocated; their peaks are after the first event.
std::vector<KindRow> kind_rows(const TraceListing& trace) {
  std::vector<KindRow> rows;
  for (const auto& [where, kind] : trace.totals.kinds) {
    if (kind.held.allocations == 0) continue;
    rows.emplace_back(where, kind);
    rows.back().second.peak_ns -= trace.followed.begin_ns();
  }
  return rows;
}

Columns<KindRow> kind_columns() {
  using Row = KindRow;
  const auto of = within(&Row::second, &TraceKind::held);
  return {
      kind_column<Row>([](const Row& row) { return row.first.first; }),
      device_column<Row>([](const Row& row) { return row.first.second; }),
      {"allocations", "successful allocations", of(&TraceHolding::allocations),
       Titled("ALLOCATIONS")},
      {"total_bytes", "requested bytes in the whole run", of(&TraceHolding::bytes),
       Titled("BYTES", 1)},
      {"frees", "successful allocations", of(&TraceHolding::frees), Titled("FREES")},
      {"current_bytes", "live at the end", of(&TraceHolding::live_bytes), Titled("NOW")},
      {"live_count", "allocations live at the end", of(&TraceHolding::live_count)},
      {"peak_bytes", "most", of(&TraceHolding::peak_bytes), Titled("PEAK")},
      {"peak_ns", "time of the peak, after time 0", within(&Row::second)(&TraceKind::peak_ns),
       Titled("AT", 2)},
      {{"MEMORY"}, [](const Row& row) { return memory_name(row.first.first, row.first.second); }}};
}

void add_kinds(Document& text, const TraceListing& trace, const Page& page) {
  const Columns<KindRow> columns =
      picked(kind_columns(), {"MEMORY", "PEAK", "AT", "NOW", "ALLOCATIONS", "BYTES", "FREES"});
  const Table table = table_of(columns, kind_rows(trace), page);
  if (table.empty()) return;
  text.drawing(table.text(page));
  text.gap();
}

void add_functions(Document& text, const TraceListing& trace, const Page& page,
                   const RowChoice& choice) {
  const std::vector<FunctionRow> functions = functions_in_order(trace, choice);
  if (functions.empty()) return;
  text.table(table_of(function_row_columns(), functions, page, choice.most),
             and_more(functions, choice.most, "function"));
  text.gap();
}

// Those that the chosen frames do not tell apart are one.
Report traced_sites(const TraceListing& trace) {
  Report report = report_of_trace(trace.followed, trace.totals);
  choose_frames(report, trace.stacks);
  return report;
}

Document sites_text(const Report& report, const NameFrame& name, const Page& page,
                    const RowChoice& choice) {
  if (page.stacks == Stacks::as_tree)
    return tree_text(report, name, shares_in_all(report), "TOTAL", page, choice.most);
  Document text;
  const std::vector<std::size_t> sites = sites_in_order(report, name, {0, choice.sort});
  if (sites.empty()) return text;
  const SiteListing listing =
      site_listing(report, name, trace_site_columns(report, name), first_rows(sites, choice.most),
                   std::identity(), "WHERE", page);
  text.drawing(listing.text(page));  // the report does not outlive it
  text.drawing(and_more(sites, choice.most, "row"));
  return text;
}

}  // namespace

Document trace_text(const TraceListing& trace, const NameFrame& name, const Page& page,
                    const RowChoice& choice) {
  Document text = head_text(trace);
  add_kinds(text, trace, page);
  add_functions(text, trace, page, choice);
  text.append(sites_text(traced_sites(trace), name, page, choice));
  return text;
}

namespace {

struct ThreadRow {
  std::uint32_t number = 0;
  std::uint64_t events = 0;
  std::int64_t id = 0;
  std::string name = {};
};

std::vector<ThreadRow> thread_rows(const TraceListing& trace) {
  std::vector<ThreadRow> rows;
  const auto& threads = trace.followed.names().facts.threads;
  for (const auto& [thread, events] : trace.totals.threads) {
    rows.push_back({.number = thread, .events = events});
    if (thread >= threads.size()) continue;
    rows.back().id = threads[thread].id;
    rows.back().name = threads[thread].name;
  }
  return rows;
}

}  // namespace

Columns<TraceListing> trace_fields(const Report& sites, const NameFrame& name,
                                   const RowChoice& choice) {
  using All = TraceListing;
  const auto of_process = [](auto member) {
    return [member](const All& all) { return all.followed.names().process.*member; };
  };
  const auto of_totals = [](auto member) {
    return [member](const All& all) { return all.totals.*member; };
  };
  const Columns<ThreadRow> thread{{"number", "in the trace", &ThreadRow::number},
                                  {"events", "of the thread", &ThreadRow::events},
                                  {"id", "of the system; 0: unknown", &ThreadRow::id},
                                  {"name", "of the thread", &ThreadRow::name}};
  return {{"pid", "number of the process", of_process(&TraceProcess::pid)},
          {"executable", "path of the program", of_process(&TraceProcess::executable)},
          {"mode", "mode of the library", of_process(&TraceProcess::mode)},
          {"complete", "the file has its end mark", &All::complete},
          {"lost", "events that were not written to the file", &All::lost},
          {"damaged_chunks", "damaged chunks that were skipped (`--partial`)", &All::damaged},
          {"bytes", "of the trace, unpacked", &All::bytes},
          {"file_bytes", "of the file", &All::file_bytes},
          {"events", "number of events", of_totals(&TraceTotals::events)},
          {"calls", "number of driver calls", of_totals(&TraceTotals::calls)},
          {"failures", "calls that failed", of_totals(&TraceTotals::failures)},
          {"start_ns", "time 0, when recording began; since 1970",
           [](const All& all) { return all.followed.start_ns(); }},
          {"duration_ns", "from time 0 to the end of the last event",
           [](const All& all) { return after(all.followed.begin_ns(), all.totals.last_ns); }},
          {"begins_at_ns", "when it began amid the run, after time 0; 0: it has the whole run",
           begun_at},
          {"live_before", "allocations that were live then", &All::before_count},
          {"live_before_bytes", "their requested bytes", &All::before_bytes},
          {"kinds", "kinds and devices", kind_columns(), kind_rows},
          {"functions", "the most calls first", function_row_columns(),
           [choice](const All& all) {
             return chosen_rows(functions_in_order(all, {}), function_row_columns(), choice);
           }},
          {"threads", "threads, in the order of their numbers", thread, thread_rows},
          {"sites", "sites, the most bytes at the peak first; site numbers are the trace's",
           trace_site_columns(sites, name),
           [&sites, name, choice](const All&) { return sites_in_order(sites, name, choice); }}};
}

std::string trace_json(const TraceListing& trace, const NameFrame& name, const RowChoice& choice) {
  return json_of(trace, trace_fields(traced_sites(trace), name, choice));
}

std::vector<std::vector<std::string>> trace_columns() {
  return {names_of(trace_site_columns(Report(), {})), names_of(function_row_columns())};
}

}  // namespace vramscope
