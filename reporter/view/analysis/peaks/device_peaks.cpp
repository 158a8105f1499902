// Adds up what takes memory of a GPU.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/device_peaks.h"

#include <algorithm>
#include <set>

#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/peaks/device_sum.h"
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

// Its pools were sampled once: what they kept then, and what was live, they had at least.
std::uint64_t reserved_for(const KindFacts& kind, const DeviceReport* device) {
  if (device == nullptr) return kind.peak_bytes;
  if (kind.kind == Kind::device && device->used) {
    return positive(device->statistics.reserved_bytes.all.peak);
  }
  const bool has_pools = kind.kind == Kind::stream_ordered && device->facts.pool_bytes != 0;
  return has_pools ? std::max(kind.peak_bytes, kind.current_bytes + device->facts.pool_bytes)
                   : kind.peak_bytes;
}

PeakBounds requested_of(const Report& report, std::uint16_t device) {
  for (const JointBounds& joint : report.joint_bounds) {
    if (joint.device == device) return {joint.lower, joint.upper};
  }
  if (!is_of_several(report)) return peak_bounds(merged_processes(report).front(), device);
  PeakBounds sum;
  for (const MergedProcess& process : report.processes) {
    const PeakBounds one = peak_bounds(process, device);
    sum.lower = std::max(sum.lower, one.lower);
    sum.upper += one.upper;
  }
  return sum;
}

// A device that nobody asked has neither.
std::optional<PeakBounds> outside_of(const DeviceReport* device) {
  if (device == nullptr) return std::nullopt;
  const DeviceFacts& facts = device->facts;
  if (is_measured(facts.measured_by)) {
    const std::uint64_t bytes = facts.context_bytes + facts.module_bytes;
    return bytes == 0 ? std::nullopt : std::optional(PeakBounds{bytes, bytes});
  }
  if (facts.outside_bytes == 0) return std::nullopt;
  return PeakBounds{0, facts.outside_bytes - std::min(facts.pool_bytes, facts.outside_bytes)};
}

GpuPeaks use_of(const Report& report, std::uint16_t device) {
  const DeviceReport* const its = find_device(report, device);
  GpuPeaks use{
      .device = device, .gpu = gpu_name(report, device), .requested = requested_of(report, device)};
  std::size_t kinds = 0;
  for (const KindFacts& kind : report.kinds) {
    if (!takes_device_memory(kind.kind) || kind.device != device || kind.peak_bytes == 0) continue;
    const std::uint64_t bytes = reserved_for(kind, its);
    use.reserved.lower = std::max(use.reserved.lower, bytes);
    use.reserved.upper += bytes;
    ++kinds;
  }
  use.reserved.lower = std::max(use.reserved.lower, use.requested.lower);
  if (is_of_several(report)) use.reserved.lower = use.requested.lower;
  use.reserved.lower = std::min(use.reserved.lower, use.reserved.upper);
  use.has_several_kinds = kinds > 1;
  use.outside = outside_of(its);
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
  return PeakBounds{reserved.lower + outside->lower, reserved.upper + outside->upper};
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
