// A trace's totals as text and JSON.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/trace_text.h"

#include <algorithm>
#include <numeric>

#include "allocator/ground/place.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/replay/trace_report.h"
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
  return {{"name", [](const Row& row) { return row.first; }},
          {"calls", [](const Row& row) { return row.second.calls; }},
          {"failures", [](const Row& row) { return row.second.failures; }},
          {"total_ns", [](const Row& row) { return row.second.total_ns; }}};
}

std::vector<FunctionRow> functions_in_order(const TraceListing& trace, const RowChoice& choice) {
  std::vector<FunctionRow> functions;
  for (const auto& [number, function] : trace.totals.functions) {
    functions.emplace_back(function_name(trace.names, number), function);
  }
  std::stable_sort(functions.begin(), functions.end(),
                   [](const auto& a, const auto& b) { return a.second.calls > b.second.calls; });
  arrange(functions, function_row_columns(), choice);
  return functions;
}

Columns<std::size_t> trace_site_columns(const Report& report, const NameFrame& name) {
  using Row = std::size_t;
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto index = [](Row row) { return static_cast<std::int64_t>(row); };
  Columns<Row> columns;
  const auto add = [&](const char* title, std::uint64_t SiteTotals::*member) {
    columns.push_back(
        {title, [&report, member](Row row) { return report.sites[row].totals.*member; }});
  };
  add_site_numbers<Row>(columns, cells, index);
  add("peak_bytes", &SiteTotals::peak_bytes);
  add("live_bytes", &SiteTotals::live_bytes);
  add("live_count", &SiteTotals::live_count);
  add("total_bytes", &SiteTotals::total_bytes);
  add("total_count", &SiteTotals::total_count);
  add("total_ns", &SiteTotals::total_ns);
  add_stack<Row>(columns, cells, index);
  return columns;
}

std::vector<std::size_t> sites_in_order(const Report& report, const NameFrame& name,
                                        const RowChoice& choice) {
  std::vector<std::size_t> sites = sites_in_order(report);
  arrange(sites, trace_site_columns(report, name), choice);
  return sites;
}

std::string tenths(std::uint64_t whole, std::uint64_t parts) {
  if (parts == 0) return "0";
  const std::uint64_t in_tenths = (whole * 10 + parts / 2) / parts;
  return std::to_string(in_tenths / 10) + "." + std::to_string(in_tenths % 10);
}

std::string head_text(const TraceListing& trace, const Page& page) {
  const TraceProcess& process = trace.names.process;
  const TraceTotals& totals = trace.totals;
  const std::uint64_t span = totals.last_ns - totals.first_ns;
  std::string result = coloured(printable(process.executable, page), Colour::bold, page) + "\n";
  result +=
      paragraph("pid " + std::to_string(process.pid) + ", mode " + printable(process.mode, page) +
                    ", " + counted(totals.events, "event") + " in " + duration_text(span) + ", " +
                    counted(totals.threads.size(), "thread"),
                page);
  const std::uint64_t events = trace.all_events != 0 ? trace.all_events : totals.events;
  std::string size = bytes_text(trace.bytes) + " with names and stacks, " +
                     tenths(trace.bytes, events) + " bytes an event";
  if (trace.all_events != 0) size += " of all " + count_text(static_cast<std::int64_t>(events));
  if (trace.bytes != trace.file_bytes) size += ", compressed to " + bytes_text(trace.file_bytes);
  result += paragraph(size, page);
  if (trace.lost != 0)
    result +=
        paragraph(counted(trace.lost, "event") + " not in the file: it could not be written", page);
  if (trace.damaged != 0) result += "  " + counted(trace.damaged, "damaged chunk") + " left out\n";
  if (!trace.complete) {
    result += paragraph("it " + std::string(kNoEnd), page);
  }
  return result + "\n";
}

std::string kinds_text(const TraceTotals& totals, const Page& page) {
  using enum Table::Align;
  Table table({{"MEMORY", left},
               {"PEAK", right},
               {"AT", right, 2},
               {"NOW", right},
               {"ALLOCATIONS", right},
               {"BYTES", right, 1},
               {"FREES", right}});
  for (const auto& [where, kind] : totals.kinds) {
    if (kind.held.allocations == 0) continue;
    table.add({memory_name(where.first, where.second), bytes_text(kind.held.peak_bytes),
               duration_text(kind.peak_ns - totals.begin_ns), bytes_text(kind.held.live_bytes),
               count_text(kind.held.allocations), bytes_text(kind.held.bytes),
               count_text(kind.held.frees)});
  }
  return table.empty() ? "" : table.text(page) + "\n";
}

std::string functions_text(const TraceListing& trace, const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  Table table({{"CALLS", right}, {"FAILED", right}, {"TIME", right}, {"FUNCTION", left}});
  const std::vector<FunctionRow> functions = functions_in_order(trace, choice);
  const std::size_t shown = rows_shown(functions.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [function, totals] = functions[i];
    table.add({count_text(totals.calls), count_text(totals.failures),
               duration_text(totals.total_ns), printable(function, page)});
  }
  if (table.empty()) return "";
  std::string result = table.text(page);
  if (shown < functions.size()) {
    result += "  and " + counted(functions.size() - shown, "more function") + "\n";
  }
  return result + "\n";
}

std::string sites_tree(const Report& report, const NameFrame& name, const Page& page,
                       std::size_t most) {
  return tree_text(report, name, shares_in_all(report), "TOTAL", page, most);
}

// Those that the chosen frames do not tell apart are one.
Report traced_sites(const TraceListing& trace) {
  Report report = report_of_trace(trace.names, trace.totals);
  choose_frames(report, trace.stacks);
  return report;
}

std::string sites_text(const Report& report, const NameFrame& name, const Page& page,
                       const RowChoice& choice) {
  using enum Table::Align;
  if (page.stacks == Stacks::as_tree) return sites_tree(report, name, page, choice.most);
  SiteListing table(report, name,
                    {{"AT PEAK", right},
                     {"NOW", right, 2},
                     {"TOTAL", right, 3},
                     {"COUNT", right, 1},
                     {"TIME", right, 4},
                     {"WHERE", left}});
  const std::vector<std::size_t> sites = sites_in_order(report, name, choice);
  const std::size_t shown = rows_shown(sites.size(), choice.most);
  for (std::size_t i = 0; i < shown; ++i) {
    const SiteTotals& totals = report.sites[sites[i]].totals;
    table.add({bytes_text(totals.peak_bytes), bytes_text(totals.live_bytes),
               bytes_text(totals.total_bytes), count_text(totals.total_count),
               duration_text(totals.total_ns)},
              static_cast<std::int64_t>(sites[i]));
  }
  if (table.empty()) return "";
  std::string result = table.text(page);
  if (shown < sites.size()) result += "  and " + counted(sites.size() - shown, "more site") + "\n";
  return result;
}

}  // namespace

std::string trace_text(const TraceListing& trace, const NameFrame& name, const Page& page,
                       const RowChoice& choice) {
  return head_text(trace, page) + kinds_text(trace.totals, page) +
         functions_text(trace, page, choice) + sites_text(traced_sites(trace), name, page, choice);
}

std::string trace_json(const TraceListing& trace, const NameFrame& name, const RowChoice& choice) {
  const TraceTotals& totals = trace.totals;
  const TraceProcess& process = trace.names.process;
  JsonText json;
  json.object().field("pid", process.pid).field("executable", process.executable);
  json.field("mode", process.mode).field("complete", trace.complete).field("lost", trace.lost);
  json.field("damaged_chunks", trace.damaged);
  json.field("bytes", trace.bytes).field("file_bytes", trace.file_bytes);
  json.field("events", totals.events).field("calls", totals.calls);
  json.field("failures", totals.failures);
  json.field("start_ns", process.wall_ns + (totals.begin_ns - process.clock_ns));
  json.field("duration_ns", after(totals.begin_ns, totals.last_ns));
  json.key("kinds").array();
  for (const auto& [where, kind] : totals.kinds) {
    if (kind.held.allocations == 0) continue;
    json.object().field("kind", kKindNames[static_cast<std::size_t>(where.first)]);
    json.field("device", where.second).field("allocations", kind.held.allocations);
    json.field("total_bytes", kind.held.bytes).field("frees", kind.held.frees);
    json.field("current_bytes", kind.held.live_bytes).field("live_count", kind.held.live_count);
    json.field("peak_bytes", kind.held.peak_bytes);
    json.field("peak_ns", kind.peak_ns - totals.begin_ns).end();
  }
  json.end().key("functions").array();
  add_objects(json, functions_in_order(trace, choice), function_row_columns(), choice.most);
  json.end().key("threads").array();
  const auto& threads = trace.names.facts.threads;
  for (const auto& [thread, events] : totals.threads) {
    json.object().field("number", thread).field("events", events);
    const bool known = thread < threads.size();
    json.field("id", known ? threads[thread].id : 0);
    json.field("name", known ? threads[thread].name : "").end();
  }
  json.end().key("sites").array();
  const Report report = traced_sites(trace);
  add_objects(json, sites_in_order(report, name, choice), trace_site_columns(report, name),
              choice.most);
  return json.end().end().text();
}

std::vector<std::vector<std::string>> trace_columns() {
  return {names_of(trace_site_columns(Report(), {})), names_of(function_row_columns())};
}

}  // namespace vramscope
