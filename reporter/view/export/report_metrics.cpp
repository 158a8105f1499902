// Few labels, base units. A family has the samples of all reports, as the format demands.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/report_metrics.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

MetricLabels with(MetricLabels labels, MetricLabels more) {
  labels.insert(labels.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  return labels;
}

bool some_are_sums(MeasuredReports reports) {
  return std::ranges::any_of(reports, [](const auto& one) { return is_of_several(*one.report); });
}

// A snapshot of another tool has only what was live.
bool some_tell_frees(MeasuredReports reports) {
  return reports.empty() ||
         std::ranges::any_of(reports, [](const auto& one) { return tells_frees(*one.report); });
}

using KindValue = std::function<std::uint64_t(const KindFacts&)>;

void add_kinds(MeasuredReports reports, MetricsWriter& writer, const KindValue& value) {
  for (const MeasuredReport& one : reports) {
    for (const KindFacts& kind : one.report->kinds) {
      MetricLabels labels = one.labels;
      add_labels_of(kind.kind, kind.device, labels);
      writer.sample(labels, value(kind));
    }
  }
}

using DeviceValue = std::function<std::optional<std::uint64_t>(const Report&, const DeviceReport&)>;

// What a file of another tool does not tell is left out.
void add_devices(MeasuredReports reports, MetricsWriter& writer, const DeviceValue& value) {
  for (const MeasuredReport& one : reports) {
    for (const DeviceReport& device : one.report->devices) {
      const std::optional<std::uint64_t> known = value(*one.report, device);
      if (!known) continue;
      const std::string index = std::to_string(device.facts.index);
      writer.sample(with(one.labels, {{"device", index}, {"name", device.facts.name}}), *known);
    }
  }
}

void add_device_infos(MeasuredReports reports, MetricsWriter& writer) {
  writer.family({.name = "device", .type = MetricType::info, .help = "The GPU."});
  for (const MeasuredReport& one : reports) {
    for (const DeviceReport& device : one.report->devices) {
      const std::uint16_t index = device.facts.index;
      writer.sample(with(one.labels, {{"device", std::to_string(index)},
                                      {"gpu", gpu_name(*one.report, index)},
                                      {"name", device.facts.name},
                                      {"uuid", device.facts.uuid}}),
                    "1");
    }
  }
}

std::optional<std::uint64_t> unless_negative(std::int64_t number) {
  if (number < 0) return {};
  return static_cast<std::uint64_t>(number);
}

void add_reserved(MeasuredReports reports, MetricsWriter& writer) {
  begin_bytes(reports, "reserved_bytes", "What the cache holds of the kind device.", writer);
  add_devices(reports, writer, [](const Report&, const DeviceReport& d) {
    return std::uint64_t(d.statistics.reserved_bytes.all.current);
  });
  if (some_tell_frees(reports)) {
    begin_bytes(reports, "reserved_peak_bytes", "The most that the cache held of the kind device.",
                writer);
    add_devices(reports, writer, [](const Report&, const DeviceReport& d) {
      return std::uint64_t(d.statistics.reserved_bytes.all.peak);
    });
    begin_bytes(reports, "needed_peak_bytes",
                "Of the reserved peak, at most this was needed at once: the rest was idle.",
                writer);
    add_devices(reports, writer, [](const Report& report, const DeviceReport& d) {
      return reserved_memory(report, d).needed_most;
    });
  }
  begin_bytes(reports, "allocated_bytes", "What blocks in use hold.", writer);
  add_devices(reports, writer, [](const Report&, const DeviceReport& d) {
    return unless_negative(d.statistics.allocated_bytes.all.current);
  });
}

using FunctionValue = std::function<std::string(const FunctionTotals&)>;

void add_functions(MeasuredReports reports, MetricsWriter& writer, const FunctionValue& value) {
  for (const MeasuredReport& one : reports) {
    for (const FunctionFacts& function : one.report->functions) {
      writer.sample(with(one.labels, {{"function", function.name}}), value(function.totals));
    }
  }
}

}  // namespace

void add_labels_of(Kind kind, std::uint16_t device, MetricLabels& labels) {
  labels.emplace_back("kind", std::string(kKindNames[static_cast<std::size_t>(kind)]));
  if (has_device(kind)) labels.emplace_back("device", std::to_string(device));
}

void begin_bytes(MeasuredReports reports, std::string_view name, std::string_view help,
                 MetricsWriter& writer) {
  const std::string_view more =
      some_are_sums(reports) ? " Added over processes at different times." : "";
  const std::string text = std::string(help).append(more);
  writer.family({.name = name, .unit = "bytes", .help = text});
}

void add_process_metrics(MeasuredReports reports, MetricsWriter& writer) {
  writer.family({.name = "process", .type = MetricType::info, .help = "The program."});
  for (const MeasuredReport& one : reports) {
    const ProcessFacts& process = one.report->process;
    const std::string rank = process.rank < 0 ? "" : std::to_string(process.rank);
    writer.sample(with(one.labels, {{"executable", process.executable},
                                    {"mode", process.mode},
                                    {"hostname", process.hostname},
                                    {"rank", rank}}),
                  "1");
  }
}

void add_kind_metrics(MeasuredReports reports, MetricsWriter& writer) {
  begin_bytes(reports, "requested_bytes", "Requested and live.", writer);
  add_kinds(reports, writer, [](const KindFacts& kind) { return kind.current_bytes; });
  if (!some_tell_frees(reports)) return;
  begin_bytes(reports, "requested_peak_bytes", "The most that was live at once.", writer);
  add_kinds(reports, writer, [](const KindFacts& kind) { return kind.peak_bytes; });
  writer.family({.name = "allocations", .type = MetricType::counter, .help = "Allocations."});
  add_kinds(reports, writer, [](const KindFacts& kind) { return kind.allocations; });
  writer.family({.name = "frees", .type = MetricType::counter, .help = "Frees."});
  add_kinds(reports, writer, [](const KindFacts& kind) { return kind.frees; });
}

void add_device_metrics(MeasuredReports reports, MetricsWriter& writer) {
  add_device_infos(reports, writer);
  writer.family({.name = "device_memory_bytes", .unit = "bytes", .help = "What the device has."});
  add_devices(reports, writer,
              [](const Report&, const DeviceReport& d) { return d.facts.total_bytes; });
  const bool are_single =
      std::ranges::none_of(reports, [](const auto& one) { return is_merged(*one.report); });
  if (are_single) {  // each of several asked at another time
    writer.family({.name = "device_memory_free_bytes",
                   .unit = "bytes",
                   .help = "Free when it was last asked."});
    add_devices(reports, writer,
                [](const Report&, const DeviceReport& d) { return d.facts.free_bytes; });
  }
  add_reserved(reports, writer);
}

void add_ledger_metrics(MeasuredReports reports, MetricsWriter& writer) {
  constexpr std::string_view kOfOne =
      "Of the used memory of the device, by kind and owner; others: contexts, code and other "
      "processes, where nobody measured the first two.";
  constexpr std::string_view kOfSeveral =
      "Of the used memory of the device, by kind and owner. Added over processes at different "
      "times; others: at most what was outside of all these processes when one of them asked.";
  writer.family({.name = "ledger_bytes",
                 .unit = "bytes",
                 .help = some_are_sums(reports) ? kOfSeveral : kOfOne});
  for (const MeasuredReport& one : reports) {
    for (const LedgerEntry& entry : one.report->ledger) {
      if (entry.device_bytes == 0) continue;
      const std::string device = std::to_string(entry.device);
      writer.sample(
          with(one.labels, {{"device", device}, {"kind", entry.kind}, {"owner", entry.owner}}),
          entry.device_bytes);
    }
  }
}

void add_function_metrics(MeasuredReports reports, MetricsWriter& writer) {
  writer.family(
      {.name = "calls", .type = MetricType::counter, .help = "Calls of a driver function."});
  add_functions(reports, writer,
                [](const FunctionTotals& totals) { return std::to_string(totals.calls); });
  writer.family(
      {.name = "call_failures", .type = MetricType::counter, .help = "Calls that failed."});
  add_functions(reports, writer,
                [](const FunctionTotals& totals) { return std::to_string(totals.failures); });
  writer.family({.name = "call_seconds",
                 .type = MetricType::counter,
                 .unit = "seconds",
                 .help = "Time in a driver function."});
  add_functions(reports, writer,
                [](const FunctionTotals& totals) { return metric_seconds(totals.time.total_ns); });
}

}  // namespace vramscope
