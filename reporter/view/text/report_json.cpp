// The screen of a report as JSON: the same selection, exact numbers.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/savings.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/owners_text.h"
#include "reporter/view/text/report_text.h"

namespace vramscope {
namespace {

Columns<ProcessFacts> process_fields() {
  using Row = ProcessFacts;
  return {{"pid", "its number", &Row::pid},
          {"hostname", "machine", &Row::hostname},
          {"executable", "path of the program", &Row::executable},
          {"arguments", "with the program's name", &Row::arguments},
          {"mode", "mode of the library", &Row::mode},
          {"simulated", "ran on the simulated device", &Row::simulated},
          {"start_time_ns", "since 1970", &Row::start_time_ns},
          {"report_time_ns", "since 1970", &Row::report_time_ns}};
}

struct DeviceRow {
  const DeviceReport* device = nullptr;
  std::string gpu;
  Savings saved;
  ReservedMemory memory;
  std::optional<GpuPeaks> use = {};
};

std::vector<DeviceRow> device_rows(const Report& report) {
  std::vector<DeviceRow> rows;
  const std::vector<GpuPeaks> uses = device_peaks(report);
  for (const DeviceReport& device : report.devices) {
    if (!device.used) continue;
    DeviceRow& row = rows.emplace_back(DeviceRow{&device, gpu_name(report, device.facts.index),
                                                 device_savings(report, device),
                                                 reserved_memory(report, device)});
    for (const GpuPeaks& use : uses) {
      if (use.device == device.facts.index) row.use = use;
    }
  }
  return rows;
}

// What the GPU is, and its memory.
Columns<DeviceRow> device_memory_fields() {
  using Row = DeviceRow;
  const auto of = within(&Row::device, &DeviceReport::statistics);
  const auto facts = within(&Row::device, &DeviceReport::facts);
  const auto memory = within(&Row::memory);
  using Stats = const DeviceStatistics&;
  return {
      {"index", "number of the GPU", facts(&DeviceFacts::index)},
      {"gpu", "as texts call it: `GPU 0`", &Row::gpu},
      {"name", "of the GPU", facts(&DeviceFacts::name)},
      {"uuid", "of the GPU", facts(&DeviceFacts::uuid)},
      {"total_bytes", "of the GPU", facts(&DeviceFacts::total_bytes)},
      {"reserved_peak_bytes",
       "peak of bytes in segments; if `merged_processes` is more than 1, the sum of the processes' "
       "peaks, perhaps at different times",
       of([](Stats stats) { return stats.reserved_bytes.all.peak; })},
      {"reserved_current_bytes", "in segments now",
       of([](Stats stats) { return stats.reserved_bytes.all.current; })},
      {"needed_least_bytes",
       "lower bound of what was needed at one time: this much was in use; a sum like "
       "`reserved_peak_bytes`. Reserved memory that is not needed is idle; it is released when "
       "memory is needed",
       memory(&ReservedMemory::needed_least)},
      {"needed_most_bytes",
       "upper bound of the same; below `reserved_peak_bytes` if the rest is known to have been "
       "idle",
       memory(&ReservedMemory::needed_most)},
      {"reserved_of_all_kinds_bytes",
       "peak, or an upper bound of it, of segments and uncached memory; null: not known, for "
       "example with a filter",
       [](const Row& row) {
         return row.use ? std::optional(row.use->reserved.upper) : std::nullopt;
       }},
      {"reserved_of_all_kinds_least_bytes", "lower bound of the same",
       [](const Row& row) {
         return row.use ? std::optional(row.use->reserved.lower) : std::nullopt;
       }},
      {"used_peak_bytes", "the upper bound plus contexts and code; null: these were not measured",
       [](const Row& row) { return row.use ? row.use->used_at_most() : std::nullopt; }},
      {"idle_current_bytes", "idle now; null: not known", memory(&ReservedMemory::idle_now)},
      {"allocated_peak_bytes",
       "peak of bytes in blocks in use, with rounding; a sum like `reserved_peak_bytes`; null: not "
       "known (RMM's log)",
       [](const Row& row) { return allocated_peak(*row.device); }},
      {"allocated_current_bytes", "in blocks in use now; null: not known",
       of([](Stats stats) { return if_known(stats.allocated_bytes.all.current); })}};
}

// What was asked of the GPU, and what the cache saved.
Columns<DeviceRow> device_call_fields() {
  using Row = DeviceRow;
  const auto of = within(&Row::device, &DeviceReport::statistics);
  const auto saved = within(&Row::saved);
  using Stats = const DeviceStatistics&;
  return {
      {"num_ooms", "allocations that failed for want of memory", of(&DeviceStatistics::num_ooms)},
      {"num_alloc_retries",
       "retries: Vramscope released idle memory, if there was any, and asked the driver again "
       "after a refusal; null: not known",
       of([](Stats stats) { return if_known(stats.num_alloc_retries); })},
      {"allocations", "allocations of plain device memory", saved(&Savings::allocations)},
      {"hits", "how many of these the cache served", saved(&Savings::hits)},
      {"saved_driver_calls",
       "driver calls that the cache saved: allocations and frees, minus segments released later; "
       "`null`: not known, for example where memory ended with its context",
       saved(&Savings::driver_calls)},
      {"estimated_saved_ns",
       "time that the cache saved if each call that it saved had taken as long as the driver's "
       "fastest: of allocations, and of frees if enough went to the driver; `null`: too few did to "
       "compare with, or a sum of processes",
       [](const Row& row) {
         return row.saved.estimated ? std::optional(row.saved.least_ns) : std::nullopt;
       }}};
}

Columns<DeviceRow> device_fields(RunHistory history) {
  Columns<DeviceRow> fields = device_memory_fields();
  append(fields, device_call_fields());
  need_history(fields,
               {"reserved_peak_bytes", "needed_least_bytes", "needed_most_bytes",
                "reserved_of_all_kinds_bytes", "reserved_of_all_kinds_least_bytes",
                "allocated_peak_bytes", "num_ooms", "allocations", "hits"},
               history);
  return fields;
}

std::vector<Share> shares_of_known_peak(const Report& report) {
  return tells_frees(report) ? shares_of_peak(report) : std::vector<Share>();
}

// What made the peak, and what is still allocated.
constexpr struct {
  const char* name;
  const char* meaning;
  std::vector<Share> (*shares)(const Report&);
} kLists[] = {
    {"peak",
     "sites live at the peak of each kind and device, the largest first; empty: a snapshot without "
     "history",
     shares_of_known_peak},
    {"live", "sites of live memory, the largest first", shares_alive}};

Columns<Report> head_fields(const Report& report, const std::string& path,
                            const std::function<void(JsonText&)>& add_processes) {
  const auto merged = [=](JsonText& json, const Report&) {
    add_processes ? add_processes(json) : (void)json.null();
  };
  return {{"file", "path of the report", [path](const Report&) { return path; }},
          {"trigger", "why it was written, as in reports", &Report::trigger},
          {"sequence", "number of the report in its process", &Report::sequence},
          {"merged_processes",
           "number of processes merged into it; 0: it was not merged. With more than one, every "
           "peak is the sum of the processes' own peaks, which may lie at different times",
           [](const Report& report) { return report.processes.size(); }},
          {{.name = "merged",
            .doc = "processes of a merged report, as `report` lists several files",
            .type = "definition processes",
            .may_be_null = true},
           merged},
          {"process", "the process", process_fields(), &Report::process},
          {"devices",
           "GPUs in use; with filters, only GPUs on which something passes. The figures are those "
           "of the whole GPU",
           device_fields(run_history(report)), device_rows}};
}

}  // namespace

Columns<Report> report_fields(const Report& report, const std::string& path, const NameFrame& name,
                              const RowChoice& choice,
                              const std::function<void(JsonText&)>& add_processes) {
  Columns<Report> fields = head_fields(report, path, add_processes);
  const Columns<Share> columns = share_columns(report, name);
  for (const auto& [list, meaning, shares] : kLists) {
    fields.push_back({list, meaning, columns, [=, shares = shares](const Report& of) {
                        return chosen_rows(shares(of), columns, choice);
                      }});
  }
  append(
      fields,
      {ledger_field("bytes by owner, as in `owners`", report, 0),
       {"sample_bytes", "one call stack was taken per this many bytes; 0: for every allocation",
        &Report::sample_bytes},
       {"dropped_stacks", "calls for which the table of sites was full", &Report::dropped_stacks},
       {"unrecorded_calls", "calls that went unrecorded", &Report::unrecorded_calls},
       {"warnings", "of the report", &Report::warnings},
       {"unknown", "parts of a newer report that are not shown", &Report::unknown}});
  return fields;
}

void report_json(JsonText& json, const Report& report, const std::string& path,
                 const NameFrame& name, const RowChoice& choice,
                 const std::function<void(JsonText&)>& add_processes) {
  add_value(json, report, report_fields(report, path, name, choice, add_processes));
}

void add_report_csv(CsvText& csv, const Report& report, const NameFrame& name,
                    const RowChoice& choice) {
  const Columns<Share> columns = share_columns(report, name);
  for (const auto& [list, meaning, shares] : kLists) {
    Columns<Share> with_list{{"list", "", [list = list](const Share&) { return list; }}};
    append(with_list, columns);
    add_rows(csv, chosen_rows(shares(report), columns, choice), with_list);
  }
}

}  // namespace vramscope
