// The labels pid, program, container_id and pod_uid stand on every sample, so that a question by
// pod needs no join; container_id and pod_uid are left out where the process runs in none.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/served_metrics.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "reporter/report/files/file_name.h"
#include "reporter/view/analysis/live_figures.h"
#include "reporter/view/export/report_metrics.h"
#include "reporter/view/system/watched_programs.h"

namespace vramscope {
namespace {

constexpr std::string_view kOther = "other";

std::string program_in(const Report& report) {
  return program_name(report.process.executable, report.process.arguments);
}

MetricLabels labels_of(const WatchedProgram& one) {
  MetricLabels labels = {{"pid", std::to_string(one.process.pid)}};
  if (one.report) labels.emplace_back("program", program_in(*one.report));
  if (!one.container.id.empty()) labels.emplace_back("container_id", one.container.id);
  if (!one.container.pod_uid.empty()) labels.emplace_back("pod_uid", one.container.pod_uid);
  return labels;
}

void add_ends(const WatchedPrograms& watched, MetricsWriter& writer) {
  const auto programs = watched.programs();
  const auto running = std::ranges::count_if(programs, [](const auto* one) { return !one->end; });
  writer.family({.name = "processes", .help = "Programs that are recorded now."});
  writer.sample({}, static_cast<std::uint64_t>(running));
  writer.family({.name = "processes_left_out",
                 .help = "Programs that are recorded now and have no metrics, for there are too "
                         "many."});
  writer.sample({}, watched.left_out());
  writer.family({.name = "ended_processes",
                 .type = MetricType::counter,
                 .help = "Programs that ended, by how; out_of_memory: after a request was "
                         "refused."});
  for (std::size_t i = 0; i < kProcessEndNames.size(); ++i) {
    writer.sample({{"how", std::string(kProcessEndNames[i])}}, watched.ends()[i]);
  }
  writer.family({.name = "process_ended",
                 .help = "1 for a program that has ended: its other metrics are its last ones."});
  for (const WatchedProgram* one : programs) {
    if (!one->end) continue;
    MetricLabels labels = labels_of(*one);
    labels.emplace_back("how", std::string(kProcessEndNames[static_cast<std::size_t>(*one->end)]));
    writer.sample(labels, 1);
  }
  writer.family({.name = "process_readable",
                 .help = "0 for a program that has no metrics: its live file cannot be read."});
  for (const WatchedProgram* one : programs) writer.sample(labels_of(*one), one->report ? 1 : 0);
}

void add_starts(MeasuredReports reports, MetricsWriter& writer) {
  writer.family({.name = "process_start_time_seconds",
                 .unit = "seconds",
                 .help = "When the recording began, since 1970."});
  for (const MeasuredReport& one : reports) {
    writer.sample(one.labels, metric_seconds(one.report->process.start_time_ns));
  }
}

using Count = std::function<std::int64_t(const DeviceStatistics&)>;

void add_counts(MeasuredReports reports, MetricsWriter& writer, const MetricFamily& family,
                const Count& count) {
  writer.family(family);
  for (const MeasuredReport& one : reports) {
    for (const DeviceReport& device : one.report->devices) {
      MetricLabels labels = one.labels;
      labels.emplace_back("device", std::to_string(device.facts.index));
      labels.emplace_back("name", device.facts.name);
      const std::int64_t value = std::max<std::int64_t>(count(device.statistics), 0);
      writer.sample(labels, static_cast<std::uint64_t>(value));
    }
  }
}

void add_statistics(MeasuredReports reports, MetricsWriter& writer) {
  add_counts(reports, writer,
             {.name = "out_of_memory",
              .type = MetricType::counter,
              .help = "Requests that were refused for want of memory."},
             [](const DeviceStatistics& all) { return all.num_ooms; });
  add_counts(reports, writer,
             {.name = "allocation_retries",
              .type = MetricType::counter,
              .help = "Requests that were tried again after idle memory was released."},
             [](const DeviceStatistics& all) { return all.num_alloc_retries; });
  add_counts(reports, writer,
             {.name = "split_free_bytes",
              .unit = "bytes",
              .help = "Of the reserved bytes: free beside live blocks, so not releasable."},
             [](const DeviceStatistics& all) { return all.inactive_split_bytes.all.current; });
}

// What the largest call sites of one program hold, each name once. The rest is one more name for
// each kind of memory.
void add_sites(const MeasuredReport& one, LiveRowNames& names, std::size_t most,
               MetricsWriter& writer) {
  using Key = std::tuple<std::string, Kind, std::uint16_t>;
  std::map<Key, std::uint64_t> bytes;
  std::size_t named = 0;
  for (const LiveRow& row : live_rows(*one.report, LiveGroup::sites, {})) {
    const bool is_named = named < most && !row.is_changing;
    const std::string name =
        is_named ? names.of(*one.report, LiveGroup::sites, row) : std::string(kOther);
    const auto [found, is_new] = bytes.try_emplace({name, row.kind(), row.device()}, 0);
    found->second += row.live_bytes;
    if (is_named && is_new) ++named;
  }
  for (const auto& [key, held] : bytes) {
    const auto& [name, kind, device] = key;
    MetricLabels labels = one.labels;
    labels.emplace_back("site", name);
    add_labels_of(kind, device, labels);
    writer.sample(labels, held);
  }
}

}  // namespace

std::string served_metrics(const WatchedPrograms& watched, const NamesOf& names_of,
                           const ServedChoice& choice) {
  std::string text;
  MetricsWriter writer(text, choice.format);
  std::vector<MeasuredReport> reports;
  for (const WatchedProgram* one : watched.programs()) {
    if (one->report) reports.push_back({&*one->report, labels_of(*one)});
  }
  add_ends(watched, writer);
  add_process_metrics(reports, writer);
  add_starts(reports, writer);
  add_kind_metrics(reports, writer);
  writer.family({.name = "site_requested_bytes",
                 .unit = "bytes",
                 .help = "Of the requested bytes: what the largest call sites hold, and others."});
  for (const MeasuredReport& one : reports) {
    add_sites(one, names_of(*one.report), choice.most_sites, writer);
  }
  add_device_metrics(reports, writer);
  add_statistics(reports, writer);
  add_ledger_metrics(reports, writer);
  add_function_metrics(reports, writer);
  writer.end();
  return text;
}

}  // namespace vramscope
