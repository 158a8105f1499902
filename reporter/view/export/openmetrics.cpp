// OpenMetrics text, as Prometheus and its text file collector read it: few labels, base units.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "reporter/report/memory_name.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/report_metrics.h"

namespace vramscope {
namespace {

void add_kept(const Exported& exported, const MeasuredReport& measured, MetricsWriter& writer) {
  using Key = std::tuple<Kind, std::uint16_t, std::string>;
  std::map<Key, std::uint64_t> kept;
  for (const LeakUsage& usage : exported.usage()) {
    for (const KeptUsage& one : usage.kept)
      kept[{usage.kind, usage.device, one.holder}] += one.bytes;
  }
  begin_bytes({&measured, 1}, "kept_bytes",
              "Of the requested bytes: held by caches of frameworks, or kept by libraries by "
              "design.",
              writer);
  for (const auto& [key, bytes] : kept) {
    const auto& [kind, device, holder] = key;
    MetricLabels labels = measured.labels;
    add_labels_of(kind, device, labels);
    labels.emplace_back("held_by", holder);
    writer.sample(labels, bytes);
  }
}

}  // namespace

std::string write_openmetrics(const Exported& exported, Output& output) {
  const Report& report = exported.report();
  const MeasuredReport measured{&report, {{"pid", std::to_string(report.process.pid)}}};
  const MeasuredReports all(&measured, 1);
  MetricsWriter writer(output.text(), MetricsFormat::openmetrics);
  add_process_metrics(all, writer);
  add_kind_metrics(all, writer);
  add_kept(exported, measured, writer);
  add_device_metrics(all, writer);
  add_ledger_metrics(all, writer);
  add_function_metrics(all, writer);
  writer.end();
  return "";
}

}  // namespace vramscope
