// The process, its GPUs, and the counters that PyTorch has, too.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/file_name.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/history.h"
#include "reporter/view/export/tables/table.h"

namespace vramscope {
namespace {

Columns<Report> process_columns() {
  const auto of = [](auto ProcessFacts::*member) {
    return [member](const Report& report) { return harmless(report.process.*member); };
  };
  const auto if_told = [](std::int64_t ProcessFacts::*member) {
    return [member](const Report& report) { return if_known(report.process.*member); };
  };
  return {
      {"pid", "number of the process", [](const Report& report) { return report.process.pid; }},
      {"job", "name of its job; empty: not known", of(&ProcessFacts::job)},
      {"rank", "from the launcher's variables; null: none", if_told(&ProcessFacts::rank)},
      {"label", "name that `run --label` gave the run; empty: none",
       [](const Report& report) { return harmless(label_of(report.process)); }},
      {"local_rank", "rank on its machine; null: not known", if_told(&ProcessFacts::local_rank)},
      {"restart", "how often it had been restarted; null: not known",
       if_told(&ProcessFacts::restart)},
      {"hostname", "machine", of(&ProcessFacts::hostname)},
      {"program", "name of the program, or of the script that Python runs",
       [](const Report& report) {
         return harmless(program_name(report.process.executable, report.process.arguments));
       }},
      {"executable", "path of the program", of(&ProcessFacts::executable)},
      {"command", "program and arguments", command_of},
      {"build", "build ID of the executable; empty: none, or not known",
       [](const Report& report) { return harmless(build_of(report)); }},
      {"mode", "mode of the library", of(&ProcessFacts::mode)},
      {"trigger", "why the report was written, as in reports",
       [](const Report& report) { return harmless(report.trigger); }},
      {"sequence", "number of the report in its process", &Report::sequence},
      {"ended_by", "signal that ended the process; empty: none, or not known",
       of(&ProcessFacts::ended_by)},
      {"refusals", "allocations that failed because memory ran out",
       [](const Report& report) { return report.oom.count; }},
      {"merged_processes", "number of processes merged into the report; 0: it was not merged",
       [](const Report& report) { return report.processes.size(); }},
      {"tool_version", "version of Vramscope that recorded",
       [](const Report& report) { return harmless(report.tool_version); }},
      {"start_ns", "when recording began, since 1970; other times count from here",
       [](const Report& report) { return report.timeline.start_ns; }},
      {"duration_ns", "time from then to the report",
       [](const Report& report) { return report.timeline.duration_ns; }},
      {"schema_version", "version of these tables", [](const Report&) { return kTablesVersion; }}};
}

struct DeviceRow {
  const Report& report;
  const DeviceFacts& facts;
};
Columns<DeviceRow> device_columns() {
  return {{"device", "number of the GPU", [](const DeviceRow& row) { return row.facts.index; }},
          {"gpu", "as texts call it: `GPU 0`",
           [](const DeviceRow& row) { return harmless(gpu_name(row.report, row.facts.index)); }},
          {"name", "model", [](const DeviceRow& row) { return harmless(row.facts.name); }},
          {"uuid", "of the GPU", [](const DeviceRow& row) { return harmless(row.facts.uuid); }},
          {"total_bytes", "size of its memory",
           [](const DeviceRow& row) { return row.facts.total_bytes; }},
          {"free_bytes", "free when the program last asked",
           [](const DeviceRow& row) { return row.facts.free_bytes; }}};
}

struct StatisticRow {
  std::optional<std::uint16_t> device;
  std::string name;
  std::int64_t value;
};
Columns<StatisticRow> statistic_columns() {
  return {{"device", "number of the GPU; null: the host", &StatisticRow::device},
          {"name", "as PyTorch calls it: `allocated_bytes.all.peak`", &StatisticRow::name},
          {"value", "bytes, a number, or microseconds, by its name", &StatisticRow::value}};
}

}  // namespace

void add_process_tables(std::vector<ExportTable>& tables) {
  tables.push_back(table_of_rows<DeviceRow>({"devices", "a GPU that the process used", {}},
                                            device_columns(),
                                            [](TableSource& source, const auto& add) {
                                              const Report& report = source.report();
                                              for (const DeviceReport& device : report.devices)
                                                add(DeviceRow{report, device.facts});
                                            }));
  tables.push_back(table_of_rows<StatisticRow>(
      {"statistics", "a counter of a GPU or of the host", {}}, statistic_columns(),
      [](TableSource& source, const auto& add) {
        const Report& report = source.report();
        for (const DeviceReport& device : report.devices)
          for (const auto& [name, value] : memory_stats(device))
            add(StatisticRow{device.facts.index, name, static_cast<std::int64_t>(value)});
        for (const auto& [name, value] : memory_stats(report.host))
          add(StatisticRow{std::nullopt, name, static_cast<std::int64_t>(value)});
      }));
  tables.push_back(table_of_rows<Report>(
      {"processes", "the process of a report or a trace", {}}, process_columns(),
      [](TableSource& source, const auto& add) { add(source.report()); }));
}

}  // namespace vramscope
