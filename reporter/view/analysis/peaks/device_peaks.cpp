// Adds up what takes memory of a GPU.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/device_peaks.h"

#include <algorithm>
#include <set>

#include "reporter/report/ledger_row.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

std::set<std::uint16_t> devices_with_memory(const Report& report) {
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : report.kinds) {
    if (takes_device_memory(kind.kind) && kind.peak_bytes != 0) devices.insert(kind.device);
  }
  return devices;
}

// One process held at least the most that any of them is known to have held; at most all held
// theirs at one time.
template <class BoundsOf>
PeakBounds over_processes(const Report& report, BoundsOf bounds_of) {
  PeakBounds sum;
  for (const MergedProcess& process : report.processes) {
    const PeakBounds one = bounds_of(process);
    sum.lower = std::max(sum.lower, one.lower);
    sum.upper += one.upper;
  }
  return sum;
}

PeakBounds requested_of(const Report& report, std::uint16_t device) {
  for (const JointBounds& joint : report.joint_bounds) {
    if (joint.device == device) return {joint.lower, joint.upper};
  }
  if (!is_of_several(report)) return peak_bounds(merged_processes(report).front(), device);
  PeakBounds bounds;
  for (const DeviceSum& sum : device_sums(report.processes)) {
    if (sum.index != device) continue;  // several have one number if there are very many
    bounds.lower = std::max(bounds.lower, sum.lower);
    bounds.upper += sum.upper;
  }
  if (bounds.upper != 0) return bounds;
  return over_processes(report,
                        [device](const MergedProcess& one) { return peak_bounds(one, device); });
}

void add_outside(GpuPeaks& use, const DeviceReport* device) {
  if (device == nullptr) return;
  const DeviceFacts& facts = device->facts;
  use.total_bytes = facts.total_bytes;
  if (is_measured(facts.measured_by)) {
    use.outside = facts.context_bytes + facts.module_bytes;
    return;
  }
  use.lacks_outside = facts.outside_bytes != 0;
  if (use.adds_up || !use.lacks_outside) return;
  use.last_seen = GpuPeaks::LastSeen{
      .bytes = facts.outside_bytes - std::min(facts.pool_bytes, facts.outside_bytes),
      .age_ns = facts.free_bytes_age_ns};
}

PeakBounds reserved_of(const Report& report, std::uint16_t device) {
  if (!is_of_several(report)) {
    const ReservedOfAllKinds one = reserved_of_all_kinds(report, device);
    return {one.least, one.most};
  }
  return over_processes(
      report, [device](const MergedProcess& one) { return reserved_bounds(one, device); });
}

GpuPeaks use_of(const Report& report, std::uint16_t device) {
  const DeviceReport* const its = find_device(report, device);
  GpuPeaks use{.device = device,
               .gpu = gpu_name(report, device),
               .requested = requested_of(report, device),
               .reserved = reserved_of(report, device),
               .adds_up = is_of_several(report)};
  use.has_several_kinds =
      std::count_if(report.kinds.begin(), report.kinds.end(), [&](const KindFacts& kind) {
        return takes_device_memory(kind.kind) && kind.device == device && kind.peak_bytes != 0;
      }) > 1;
  use.reserved.lower = std::max(use.reserved.lower, use.requested.lower);
  use.reserved.lower = std::min(use.reserved.lower, use.reserved.upper);
  add_outside(use, its);
  return use;
}

// What another tool's file does not tell is 0 in it.
bool counts_segments(const Report& report, std::uint16_t device) {
  const DeviceReport* const its = find_device(report, device);
  if (its == nullptr || !its->used) return true;  // of other kinds alone
  return its->statistics.reserved_bytes.all.peak >= its->statistics.requested_bytes.all.peak;
}

}  // namespace

std::optional<PeakBounds> GpuPeaks::used() const {
  if (!outside) return std::nullopt;
  const std::uint64_t together = adds_up ? 0 : *outside;  // contexts may not have met
  return PeakBounds{reserved.lower + together, reserved.upper + *outside};
}

std::optional<std::uint64_t> GpuPeaks::used_at_most() const {
  const std::optional<PeakBounds> bounds = used();
  return bounds ? std::optional(bounds->upper) : std::nullopt;
}

std::vector<GpuPeaks> device_peaks(const Report& report) {
  if (report.chosen && (report.chosen->by_rows || report.chosen->kind)) return {};
  std::vector<GpuPeaks> uses;
  for (const std::uint16_t device : devices_with_memory(report)) {
    if (counts_segments(report, device)) uses.push_back(use_of(report, device));
  }
  return uses;
}

}  // namespace vramscope
