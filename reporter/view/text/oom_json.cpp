// Allocations that failed, as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/oom_text.h"

namespace vramscope {
namespace {

Columns<OomEvent> event_columns(const Report& report, const NameFrame& name) {
  using Row = OomEvent;
  const auto leaks = std::make_shared<const Leaks>(leaks_for_oom(report, name));
  const auto served = std::make_shared<SiteCells>(report, name);
  Columns<Row> columns{
      {"number", [](const Row& row) { return row.number; }},
      {"time_ns", [](const Row& row) { return row.time_ns; }},
      {"function", [](const Row& row) { return row.function; }},
      {"kind", [](const Row& row) { return kind_cell(row.kind); }},
      {"device", [](const Row& row) { return number(row.device); }},
      {"bytes", [](const Row& row) { return row.bytes; }},
      {"thread", [](const Row& row) { return row.thread; }},
      {"range", [](const Row& row) { return row.range; }},
      {"by_limit", [](const Row& row) { return row.by_limit; }},
      {"counted_bytes", [](const Row& row) { return row.counted_bytes; }},
      {"is_watched", [](const Row& row) { return row.is_watched; }},
      {"served_ns", [](const Row& row) { return if_known(row.served_ns); }},
      {"served_site", [=](const Row& row) { return served->number(row.served_site); }},
      {"has_details", [](const Row& row) { return row.has_details; }},
      {"total_bytes", [](const Row& row) { return row.total_bytes; }},
      {"free_bytes", [](const Row& row) { return row.free_bytes; }},
      {"reserved_bytes", [](const Row& row) { return row.reserved_bytes; }},
      {"allocated_bytes", [](const Row& row) { return row.allocated_bytes; }},
      {"requested_bytes", [](const Row& row) { return row.requested_bytes; }},
      {"allocation_count", [](const Row& row) { return row.allocation_count; }},
      {"pending_bytes", [](const Row& row) { return row.pending_bytes; }},
      {"idle_bytes", [](const Row& row) { return row.idle_bytes; }},
      {"split_free_bytes", [](const Row& row) { return row.split_free_bytes; }},
      {"largest_free_bytes", [](const Row& row) { return row.largest_free_bytes; }},
      {"direct_bytes", [](const Row& row) { return row.direct_bytes; }},
      {"rounding_bytes", [](const Row& row) { return row.rounding_bytes; }},
      {"outside_bytes", [](const Row& row) { return row.outside_bytes; }},
      {"context_bytes", [](const Row& row) { return row.context_bytes; }},
      {"module_bytes", [](const Row& row) { return row.module_bytes; }},
      {"pool_bytes", [](const Row& row) { return row.pool_bytes; }},
      {"pool_pending_bytes", [](const Row& row) { return row.pool_pending_bytes; }},
      {"native_free_bytes", [](const Row& row) { return row.native_free_bytes; }},
      {"hint", [&report, leaks](const Row& row) { return hint_for(report, row, *leaks); }}};
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto site = [](const Row& row) { return row.site; };
  add_site_numbers<Row>(columns, cells, site);
  add_stack<Row>(columns, cells, site);
  return columns;
}

// What the rows of CSV begin with: the table and its event.
template <class Row>
Columns<Row> with_event(const char* list, const OomEvent& event, Columns<Row> columns) {
  columns.insert(columns.begin(),
                 {{"list", [list](const Row&) { return CellValue(std::string(list)); }},
                  {"event", [&event](const Row&) { return CellValue(event.number); }},
                  {"time_ns", [&event](const Row&) { return CellValue(event.time_ns); }},
                  {"device", [&event](const Row&) { return number(event.device); }}});
  return columns;
}

// The titles of all tables: a row has nothing in those that are another's.
std::vector<std::string> titles_of_all(const Columns<OomEvent>& events) {
  std::vector<std::string> titles{"list",        "event",      "time_ns",
                                  "device",      "kind",       "segments",
                                  "total_bytes", "free_bytes", "largest_free_bytes",
                                  "live_bytes",  "live_count", "site",
                                  "sites",       "called",     "frames",
                                  "line"};
  for (const std::string& name : names_of(events)) {
    if (std::find(titles.begin(), titles.end(), name) == titles.end()) titles.push_back(name);
  }
  return titles;
}

template <class Row>
void add_aligned(CsvText& csv, const std::vector<std::string>& titles, const std::vector<Row>& rows,
                 const Columns<Row>& columns, std::size_t most) {
  for (std::size_t i = 0; i < rows_shown(rows.size(), most); ++i) {
    csv.begin();
    for (const std::string& title : titles) {
      const auto found = std::find_if(columns.begin(), columns.end(),
                                      [&](const auto& column) { return column.name == title; });
      csv.cell(found == columns.end() ? CellValue() : found->cell(rows[i]));
    }
    csv.end();
  }
}

}  // namespace

Columns<OomShare> oom_share_columns(const Report& report, const NameFrame& name) {
  using Row = OomShare;
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto site = [](const Row& row) { return row.site; };
  Columns<Row> columns{{"kind", [](const Row& row) { return kind_cell(row.kind); }},
                       {"live_bytes", [](const Row& row) { return row.live_bytes; }},
                       {"live_count", [](const Row& row) { return row.live_count; }}};
  add_site_numbers<Row>(columns, cells, site);
  add_stack<Row>(columns, cells, site);
  return columns;
}

Columns<OomPin> oom_pin_columns(const Report& report, const NameFrame& name) {
  using Row = OomPin;
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto site = [](const Row& row) { return row.site; };
  Columns<Row> columns{
      {"segments", [](const Row& row) { return row.segments; }},
      {"total_bytes", [](const Row& row) { return row.total_size; }},
      {"free_bytes", [](const Row& row) { return row.free_bytes; }},
      {"largest_free_bytes", [](const Row& row) { return row.largest_free_bytes; }},
      {"live_bytes", [](const Row& row) { return row.live_bytes; }},
      {"live_count", [](const Row& row) { return row.live_count; }}};
  add_site_numbers<Row>(columns, cells, site);
  add_stack<Row>(columns, cells, site);
  return columns;
}

std::string oom_json(const Report& report, const NameFrame& name, const RowChoice& choice) {
  const Columns<OomEvent> columns = event_columns(report, name);
  const Columns<OomShare> of_shares = oom_share_columns(report, name);
  const Columns<OomPin> of_pins = oom_pin_columns(report, name);
  JsonText json;
  json.object().field("count", report.oom.count).key("events").array();
  for (const OomEvent& event : report.oom.events) {
    add_fields(json.object(), event, columns);
    std::vector<OomShare> shares = event.shares;
    arrange(shares, of_shares, choice);
    add_objects(json.key("shares").array(), shares, of_shares, choice.most);
    json.end().key("owners").array();
    for (const OomOwner& owner : event.owners) {
      json.object().field("owner", owner.owner).key("kind").cell(kind_cell(owner.kind));
      json.field("live_bytes", owner.live_bytes).end();
    }
    std::vector<OomPin> pins = event.pins;
    arrange(pins, of_pins, choice);
    add_objects(json.end().key("pins").array(), pins, of_pins, choice.most);
    json.end().end();
  }
  return json.end().end().text();
}

void add_oom_csv(CsvText& csv, const Report& report, const NameFrame& name,
                 const RowChoice& choice) {
  const Columns<OomEvent> events = event_columns(report, name);
  const std::vector<std::string> titles = titles_of_all(events);
  csv.titles(titles);
  for (const OomEvent& event : report.oom.events) {
    add_aligned(csv, titles, std::vector{event}, with_event("event", event, events), 0);
    std::vector<OomShare> shares = event.shares;
    const auto of_shares = with_event("shares", event, oom_share_columns(report, name));
    arrange(shares, of_shares, choice);
    add_aligned(csv, titles, shares, of_shares, choice.most);
    std::vector<OomPin> pins = event.pins;
    const auto of_pins = with_event("pins", event, oom_pin_columns(report, name));
    arrange(pins, of_pins, choice);
    add_aligned(csv, titles, pins, of_pins, choice.most);
  }
}

}  // namespace vramscope
