// The screen of a report as JSON: the same selection, exact numbers.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/savings.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/report_text.h"

namespace vramscope {
namespace {

void process_json(JsonText& json, const Report& report) {
  const ProcessFacts& process = report.process;
  json.key("process").object();
  json.field("pid", process.pid).field("hostname", process.hostname);
  json.field("executable", process.executable).key("arguments").array();
  for (const std::string& argument : process.arguments) json.value(argument);
  json.end().field("mode", process.mode).field("simulated", process.simulated);
  json.field("start_time_ns", process.start_time_ns);
  json.field("report_time_ns", process.report_time_ns).end();
}

void device_json(JsonText& json, const Report& report, const DeviceReport& device) {
  const DeviceStatistics& stats = device.statistics;
  const Savings saved = savings(device.timing);
  json.object().field("index", device.facts.index).field("name", device.facts.name);
  json.field("total_bytes", device.facts.total_bytes);
  json.field("reserved_peak_bytes", stats.reserved_bytes.all.peak);
  json.field("reserved_current_bytes", stats.reserved_bytes.all.current);
  const ReservedMemory memory = reserved_memory(report, device);
  json.field("needed_least_bytes", memory.needed_least);
  json.field("needed_most_bytes", memory.needed_most).key("idle_current_bytes");
  (memory.idle_now ? json.value(*memory.idle_now) : json.null());
  json.key("allocated_peak_bytes");
  const auto allocated = allocated_peak(device);
  (allocated ? json.value(*allocated) : json.null());
  json.key("allocated_current_bytes");
  json.cell(if_known(stats.allocated_bytes.all.current));
  json.field("num_ooms", stats.num_ooms).key("num_alloc_retries");
  json.cell(if_known(stats.num_alloc_retries));
  json.field("allocations", saved.allocations).field("hits", saved.hits);
  json.field("saved_driver_calls", saved.driver_calls).key("estimated_saved_ns");
  (saved.estimated ? json.value(saved.least_ns) : json.null()).end();
}

// What made the peak, and what is still allocated.
constexpr std::pair<const char*, std::vector<Share> (*)(const Report&)> kLists[] = {
    {"peak", shares_of_peak}, {"live", shares_alive}};

}  // namespace

void report_json(JsonText& json, const Report& report, const std::string& path,
                 const NameFrame& name, const RowChoice& choice,
                 const std::function<void(JsonText&)>& add_processes) {
  json.object().field("file", path).field("trigger", report.trigger);
  json.field("sequence", report.sequence).field("merged_processes", report.processes.size());
  json.key("merged");
  if (add_processes) {
    add_processes(json);
  } else {
    json.null();
  }
  process_json(json, report);
  json.key("devices").array();
  for (const DeviceReport& device : report.devices) {
    if (device.used) device_json(json, report, device);
  }
  json.end();
  const Columns<Share> columns = share_columns(report, name);
  for (const auto& [list, shares_of] : kLists) {
    std::vector<Share> shares = shares_of(report);
    arrange(shares, columns, choice);
    add_objects(json.key(list).array(), shares, columns, choice.most);
    json.end();
  }
  add_ledger(json, report, 0);
  json.field("sample_bytes", report.sample_bytes).field("dropped_stacks", report.dropped_stacks);
  json.field("unrecorded_calls", report.unrecorded_calls).key("warnings").array();
  for (const std::string& warning : report.warnings) json.value(warning);
  json.end().key("unknown").array();
  for (const std::string& name : report.unknown) json.value(name);
  json.end().end();
}

void add_report_csv(CsvText& csv, const Report& report, const NameFrame& name,
                    const RowChoice& choice) {
  const Columns<Share> columns = share_columns(report, name);
  for (const auto& [list, shares_of] : kLists) {
    std::vector<Share> shares = shares_of(report);
    arrange(shares, columns, choice);
    Columns<Share> with_list = columns;
    with_list.insert(with_list.begin(),
                     {"list", [list](const Share&) { return CellValue(std::string(list)); }});
    add_rows(csv, shares, with_list, choice.most);
  }
}

}  // namespace vramscope
