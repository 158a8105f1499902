// Allocations that failed, as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/analysis/refused_requests.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/oom_text.h"
#include "reporter/view/text/own_time.h"
#include "reporter/view/text/tried_text.h"

namespace vramscope {
namespace {

// What the driver and the cache held at that instant.
Columns<OomEvent> held_columns() {
  using Row = OomEvent;
  return {{"total_bytes", "of the device", &Row::total_bytes},
          {"free_bytes", "free memory of the device, as the driver reported it", &Row::free_bytes},
          {"reserved_bytes", "in segments", &Row::reserved_bytes},
          {"allocated_bytes", "in blocks in use", &Row::allocated_bytes},
          {"requested_bytes", "requested bytes of these blocks", &Row::requested_bytes},
          {"allocation_count", "blocks in use", &Row::allocation_count},
          {"pending_bytes", "freed, but perhaps still in use", &Row::pending_bytes},
          {"idle_bytes", "segments without a block in use", &Row::idle_bytes},
          {"split_free_bytes", "free bytes beside blocks in use", &Row::split_free_bytes},
          {"largest_free_bytes", "largest free block", &Row::largest_free_bytes},
          {"direct_bytes", "held outside the cache", &Row::direct_bytes},
          {"rounding_bytes", "added by the driver to fill whole pages", &Row::rounding_bytes},
          {"outside_bytes", "held by others", &Row::outside_bytes},
          {"context_bytes", "of this process's contexts, in `outside_bytes`", &Row::context_bytes},
          {"module_bytes", "of loaded code, part of `outside_bytes`", &Row::module_bytes},
          {"pool_bytes", "kept by the driver's pools beyond live memory, in `outside_bytes`",
           &Row::pool_bytes},
          {"pool_pending_bytes",
           "part of `pool_bytes` that is pending until the freeing streams reach the free",
           &Row::pool_pending_bytes},
          {"before_bytes",
           "of an attached process: what it had before, contexts included, in `outside_bytes`",
           before_then},
          {"native_free_bytes", "estimate of what would have been free without the cache",
           &Row::native_free_bytes}};
}

Columns<OomEvent> event_columns(const Report& report, const NameFrame& name) {
  using Row = OomEvent;
  const auto leaks = std::make_shared<const Leaks>(leaks_for_oom(report, name));
  const auto served = std::make_shared<SiteCells>(report, name);
  Columns<Row> columns{
      {"number", "number among all failures of its process, starting at 1", &Row::number},
      {"process_pid", "process that was refused; `null`: not known",
       [&report](const Row& row) {
         const MergedProcess* const one = own_refusal(report, row).process;
         const std::int64_t pid = one == nullptr ? report.process.pid : one->process.pid;
         return pid == 0 ? std::nullopt : std::optional(pid);
       }},
      {"repeats",
       "number of the previous refusal of the same request, by the same process (PyTorch and CuPy "
       "retry after emptying their caches); null: a new request",
       [&report](const Row& row) {
         const auto repeated = repeated_request(report, row);
         return repeated ? std::optional(repeated->number) : std::nullopt;
       }},
      {"time_ns", "after time 0, when recording began", &Row::time_ns},
      {"process_ns", "the same, but after the start of recording in that process",
       [&report](const Row& row) { return own_time_ns(report, row); }},
      {"function", "driver function that failed", &Row::function},
      kind_column<Row>(&Row::kind),
      device_column<Row>(&Row::device),
      {"bytes", "asked for; 0: unknown", &Row::bytes},
      {"thread", "thread that made the request", &Row::thread},
      {"range", "NVTX range", &Row::range},
      {"by_limit", "`--device-memory-limit` refused it", &Row::by_limit},
      {"counted_bytes", "bytes counted against the limit at the refusal; 0: not known",
       &Row::counted_bytes},
      {"is_watched",
       "the next two fields were watched for: true for the first 16 refusals and the last one, if "
       "their request is known",
       &Row::is_watched},
      {"served_ns",
       "start of the first later call that got as much of this memory; null: none, or unknown",
       [](const Row& row) { return if_known(row.served_ns); }},
      {"served_site", "number of the site in the report's file that made that call",
       [=](const Row& row) { return served->number(row.served_site); }},
      {"has_details", "the numbers below were taken", &Row::has_details}};
  append(columns, held_columns());
  append(columns, {{"hint", "what would most likely help; empty: not known",
                    [&report, leaks](const Row& row) { return hint_for(report, row, *leaks); }}});
  return with_site<Row>(report, name, &Row::site, {}, std::move(columns));
}

// What the rows of CSV begin with: the table and its event.
template <class Row>
Columns<Row> with_event(const char* list, const OomEvent& event, Columns<Row> columns) {
  columns.insert(columns.begin(), {{"list", "", [list](const Row&) { return list; }},
                                   {"event", "", [&event](const Row&) { return event.number; }},
                                   {"time_ns", "", [&event](const Row&) { return event.time_ns; }},
                                   {"device", "", [&event](const Row&) { return event.device; }}});
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
                 const Columns<Row>& columns) {
  for (const Row& row : rows) {
    csv.begin();
    for (const std::string& title : titles) {
      const auto found = std::ranges::find(columns, title, &Column<Row>::name);
      csv.cell(found == columns.end() ? CellValue() : found->cell(row));
    }
    csv.end();
  }
}

}  // namespace

Columns<OomShare> oom_share_columns(const Report& report, const NameFrame& name) {
  using Row = OomShare;
  return with_site<Row>(report, name, &Row::site, {},
                        {kind_column<Row>(&Row::kind),
                         {"live_bytes", "requested", &Row::live_bytes, Titled("REQUESTED")},
                         {"live_count", "allocations", &Row::live_count, Titled("COUNT", 2)}});
}

Columns<OomPin> oom_pin_columns(const Report& report, const NameFrame& name) {
  using Row = OomPin;
  return with_site<Row>(
      report, name, &Row::site, {},
      {{"segments", "number of segments", &Row::segments, Titled("SEGMENTS", 4)},
       {"total_bytes", "size of these segments", &Row::total_size},
       {"free_bytes", "in them", &Row::free_bytes, Titled("FREE")},
       {"largest_free_bytes", "largest free piece in them", &Row::largest_free_bytes,
        Titled("LARGEST", 1)},
       {"live_bytes", "bytes of all live blocks in them, also of other sites, with rounding",
        &Row::live_bytes, Titled("IN USE", 3)},
       {"live_count", "number of all live blocks in them", &Row::live_count, Titled("BLOCKS", 2)}});
}

Columns<OomReport> oom_fields(const Report& report, const NameFrame& name, const RowChoice& choice,
                              const RefusalTrial* tried) {
  const auto chosen = [choice](const auto& columns, auto list) {
    return [=](const OomEvent& event) { return chosen_rows(event.*list, columns, choice); };
  };
  const Columns<OomShare> shares = oom_share_columns(report, name);
  const Columns<OomPin> pins = oom_pin_columns(report, name);
  const Columns<OomOwner> owners{{"owner", "whose code asked", &OomOwner::owner},
                                 kind_column<OomOwner>(&OomOwner::kind),
                                 {"live_bytes", "requested", &OomOwner::live_bytes}};
  Columns<OomEvent> event = event_columns(report, name);
  append(event, {{"shares", "sites live at the refusal, the largest first", shares,
                  chosen(shares, &OomEvent::shares)},
                 {"owners", "the same by owner", owners, &OomEvent::owners},
                 {"pins", "sites whose blocks keep segments from being released", pins,
                  chosen(pins, &OomEvent::pins)}});
  const auto requests = [&report](const OomReport&) { return refused_requests(report); };
  return {{"count", "allocations that failed for want of memory", &OomReport::count},
          {"requests", "number of distinct requests among these, see `events[].repeats`", requests},
          {"events", "failures that the report describes", event, &OomReport::events},
          {"tried",
           "what would have served the first refused request, by replays of the run's trace; "
           "`null`: there is no trace, or its replay does not refuse that request",
           tried_fields(), [tried](const OomReport&) { return tried; }}};
}

std::string oom_json(const Report& report, const NameFrame& name, const RowChoice& choice,
                     const RefusalTrial* tried) {
  return json_of(report.oom, oom_fields(report, name, choice, tried));
}

void add_oom_csv(CsvText& csv, const Report& report, const NameFrame& name,
                 const RowChoice& choice) {
  const Columns<OomEvent> events = event_columns(report, name);
  const std::vector<std::string> titles = titles_of_all(events);
  csv.titles(titles);
  for (const OomEvent& event : report.oom.events) {
    add_aligned(csv, titles, std::vector{event}, with_event("event", event, events));
    const auto shares = with_event("shares", event, oom_share_columns(report, name));
    add_aligned(csv, titles, chosen_rows(event.shares, shares, choice), shares);
    const auto pins = with_event("pins", event, oom_pin_columns(report, name));
    add_aligned(csv, titles, chosen_rows(event.pins, pins, choice), pins);
  }
}

}  // namespace vramscope
