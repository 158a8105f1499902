// Takes what belongs to one process only from its report.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merged_process.h"

#include <algorithm>

#include "reporter/report/ledger_row.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/report/trigger.h"

namespace vramscope {
namespace {

// A device without a known size, as in other tools' files, was never asked for its free memory.
std::int64_t others_on(const Report& report, const DeviceFacts& device) {
  if (device.total_bytes == 0) return -1;
  std::uint64_t bytes = 0;
  for (const LedgerEntry& entry : report.ledger) {
    if (has_kind_of(LedgerRow::others, entry.kind) && entry.device == device.index)
      bytes += entry.device_bytes;
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t ever_allocated(const Report& report) {
  std::uint64_t bytes = 0;
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {
      if (holds_memory(part.kind)) bytes += part.totals.total_bytes;
    }
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t spent_in_allocations(const Report& report) {
  std::uint64_t ns = 0;
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {
      if (holds_memory(part.kind)) ns += part.totals.total_ns;
    }
  }
  return static_cast<std::int64_t>(ns);
}

std::int64_t needed_most(const Report& report, const DeviceReport& device) {
  if (!device.used) return 0;
  return static_cast<std::int64_t>(reserved_memory(report, device).needed_most);
}

}  // namespace

std::string build_of(const Report& report) {
  const auto found = std::find_if(
      report.modules.begin(), report.modules.end(),
      [&](const ModuleFact& module) { return module.path == report.process.executable; });
  return found == report.modules.end() ? "" : found->build_id;
}

std::vector<MergedProcess> merged_processes(const Report& report) {
  if (!report.processes.empty()) return report.processes;
  MergedProcess one{.process = report.process,
                    .trigger = report.trigger,
                    .sequence = report.sequence,
                    .devices = {},
                    .kinds = report.kinds,
                    .joint_peaks = {},
                    .timeline = report.timeline,
                    .trace = report.trace,
                    .oom = report.oom,
                    .total_bytes = ever_allocated(report),
                    .report = report.file,
                    .allocating_ns = spent_in_allocations(report),
                    .build = build_of(report),
                    .version = report.tool_version};
  for (const JointPeak& joint : report.joint_peaks) {
    one.joint_peaks.push_back({.facts = joint.facts});
  }
  for (const DeviceReport& device : report.devices) {
    const ReservedOfAllKinds reserved = reserved_of_all_kinds(report, device.facts.index);
    one.devices.push_back(
        {.index = device.facts.index,
         .name = device.facts.name,
         .uuid = device.facts.uuid,
         .pci_bus_id = device.facts.pci_bus_id,
         .total_bytes = device.facts.total_bytes,
         .reserved_peak_bytes = device.used ? device.statistics.reserved_bytes.all.peak : 0,
         .needed_most_bytes = needed_most(report, device),
         .reserved_least_bytes = static_cast<std::int64_t>(reserved.least),
         .reserved_most_bytes = static_cast<std::int64_t>(reserved.most),
         .others_bytes = others_on(report, device.facts)});
  }
  return {one};
}

bool is_end_known(const MergedProcess& process) {
  const std::uint64_t end_ns = process.timeline.start_ns + process.timeline.duration_ns;
  switch (trigger_of(process.trigger)) {
    case Trigger::recovered:
      return end_ns > process.process.report_time_ns;
    case Trigger::exit:
    case Trigger::exec:
    case Trigger::imported:
    case Trigger::untold:
      return true;
    default:
      return !process.process.ended_by.empty();
  }
}

ProcessIdentity identity_of(const ProcessFacts& process) {
  return {process.hostname, process.pid, process.start_time_ns};
}

}  // namespace vramscope
