// Fields of what was read of a running program.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/live_fields.h"

#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

const ProcessFacts& process_in(const LiveReading& reading) { return reading.report->process; }

std::uint64_t age_of_reading(const LiveReading& reading) {
  const ProcessFacts& process = process_in(reading);
  return process.report_time_ns - std::min(process.start_time_ns, process.report_time_ns);
}

// Columns that a device has in the document and in a line. `of` gives the device of a row.
template <class Row, class Of>
Columns<Row> device_figures(Of of) {
  const auto counter = [of](PooledStat DeviceStatistics::*stat) {
    return [of, stat](const Row& row) { return (of(row).report->statistics.*stat).all.current; };
  };
  const auto figure = [of](std::uint64_t LiveGpu::*member) {
    return [of, member](const Row& row) { return of(row).*member; };
  };
  return {{"total_bytes", "size of the GPU's memory; 0: not known", figure(&LiveGpu::total_bytes)},
          {"live_bytes", "requested bytes of all kinds that take its memory, live now",
           figure(&LiveGpu::live_bytes)},
          {"peak_bytes", "the most that was live at one time, as in `list`",
           figure(&LiveGpu::peak_bytes)},
          {"allocated_bytes", "in blocks in use, with rounding; plain device memory",
           counter(&DeviceStatistics::allocated_bytes)},
          {"reserved_bytes", "in segments; plain device memory",
           counter(&DeviceStatistics::reserved_bytes)},
          {"cached_bytes", "reserved beyond what is live: freed memory and rounding",
           figure(&LiveGpu::cached_bytes)},
          {"driver_bytes", "contexts, code and memory of the driver's pools, at the last sample",
           figure(&LiveGpu::driver_bytes)},
          {"others_bytes", "of other processes, or not known whose, at the last sample",
           figure(&LiveGpu::others_bytes)},
          {"before_bytes",
           "of an attached process: what it held before, contexts included, less what it freed",
           figure(&LiveGpu::before_bytes)}};
}

Columns<LiveGpu> device_columns() {
  using Row = LiveGpu;
  Columns<Row> columns{
      {"index", "number of the GPU", [](const Row& row) { return row.report->facts.index; }},
      {"name", "of the GPU", [](const Row& row) { return row.report->facts.name; }}};
  append(columns, device_figures<Row>([](const Row& row) -> const LiveGpu& { return row; }));
  return columns;
}

Columns<KindFacts> kind_columns() {
  return {{"kind", "kind of memory, as in reports", &KindFacts::kind},
          {"device", "number of the GPU; 0 for memory of no device", &KindFacts::device},
          {"live_bytes", "requested, live now", &KindFacts::current_bytes},
          {"peak_bytes", "the most that was live at one time", &KindFacts::peak_bytes},
          {"allocations", "successful ones since the start", &KindFacts::allocations},
          {"frees", "since the start", &KindFacts::frees}};
}

Columns<LiveNamedRow> row_columns(const char* meaning) {
  using Row = LiveNamedRow;
  const auto of = within(&Row::row);
  return {
      {"name", meaning, &Row::name},
      {"kind", "kind of memory, as in reports", [](const Row& row) { return row.row.kind(); }},
      {"device", "number of the GPU; 0 for memory of no device",
       [](const Row& row) { return row.row.device(); }},
      {"live_bytes", "requested, live now", of(&LiveRow::live_bytes)},
      {"live_count", "number of allocations that make up these bytes", of(&LiveRow::live_count)},
      {"total_count", "allocations since the start", of(&LiveRow::total_count)},
      {"is_changing", "stands for what was allocated or freed during the reading",
       of(&LiveRow::is_changing)}};
}

Column<LiveDocument> group_field(const char* name, LiveGroup group, const char* doc,
                                 const char* meaning) {
  return {name, doc, row_columns(meaning),
          [group](const LiveDocument& row) { return row.groups[static_cast<std::size_t>(group)]; }};
}

}  // namespace

LiveDocument live_document(const LiveReading& reading, LiveRowNames& names, std::size_t most) {
  LiveDocument document{.reading = &reading, .devices = live_gpus(*reading.report)};
  for (std::size_t i = 0; i < kLiveGroupNames.size(); ++i) {
    const auto group = static_cast<LiveGroup>(i);
    std::vector<LiveNamedRow>& named = document.groups.emplace_back();
    for (LiveRow& row : live_rows(*reading.report, group, {})) {
      if (most != 0 && named.size() == most) break;
      std::string name = names.of(*reading.report, group, row);
      named.push_back({std::move(name), std::move(row)});
    }
  }
  return document;
}

Columns<LiveDocument> live_fields() {
  using Row = LiveDocument;
  const auto process = [](const Row& row) -> const ProcessFacts& {
    return process_in(*row.reading);
  };
  return {{"pid", "process number", [=](const Row& row) { return process(row).pid; }},
          {"program", "its name, or that of the script that Python runs",
           [=](const Row& row) { return program_of(process(row)); }},
          {"time_ns", "when it was read; since 1970",
           [=](const Row& row) { return process(row).report_time_ns; }},
          {"age_ns", "time since the program was started",
           [](const Row& row) { return age_of_reading(*row.reading); }},
          {"mode", "mode of the library", [=](const Row& row) { return process(row).mode; }},
          {"has_ended", "the program has ended, and this is what it had in the end",
           [](const Row& row) { return row.reading->has_ended; }},
          {"report", "path of its next report; of a program that has ended, of its last one",
           [](const Row& row) { return row.reading->next_report; }},
          {"devices", "GPUs in use", device_columns(), &Row::devices},
          {"kinds", "kinds of memory, of one instant", kind_columns(),
           [](const Row& row) { return row.reading->report->kinds; }},
          group_field("sites", LiveGroup::sites, "call sites with live memory, the largest first",
                      "call stack, innermost first"),
          group_field("owners", LiveGroup::owners, "owners with live memory",
                      "program or library whose code requested it"),
          group_field("ranges", LiveGroup::ranges, "named ranges with live memory",
                      "the range, or `none`"),
          group_field("threads", LiveGroup::threads, "threads with live memory",
                      "name and number of the thread, and where it began")};
}

std::vector<LiveLine> live_lines(const LiveReading& reading) {
  std::vector<LiveLine> lines;
  for (const LiveGpu& device : live_gpus(*reading.report)) {
    lines.push_back({&reading, device});
  }
  return lines;
}

Columns<LiveLine> live_line_columns() {
  using Row = LiveLine;
  const auto calls = [](std::uint64_t KindFacts::*member) {
    return [member](const Row& row) {
      std::uint64_t sum = 0;
      for (const KindFacts& kind : row.reading->report->kinds) {
        const bool is_its =
            takes_device_memory(kind.kind) && kind.device == row.device.report->facts.index;
        if (is_its) sum += kind.*member;
      }
      return sum;
    };
  };
  Columns<Row> columns{
      {"time_ns", "when it was read; since 1970",
       [](const Row& row) { return process_in(*row.reading).report_time_ns; }},
      {"pid", "process number", [](const Row& row) { return process_in(*row.reading).pid; }},
      {"has_ended", "the program has ended, and this is what it had in the end",
       [](const Row& row) { return row.reading->has_ended; }},
      {"device", "number of the GPU",
       [](const Row& row) { return row.device.report->facts.index; }}};
  append(columns, device_figures<Row>([](const Row& row) -> const LiveGpu& { return row.device; }));
  append(columns,
         {{"allocations", "of these kinds since the start", calls(&KindFacts::allocations)},
          {"frees", "of these kinds since the start", calls(&KindFacts::frees)}});
  return columns;
}

}  // namespace vramscope
