// Finds the processes of each device, and what they peaked at.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/device_sum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "allocator/base/place.h"
#include "reporter/report/gpus.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/usage_bounds.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// Served by the driver: reserved for it was what it held at least.
bool is_past_the_cache(const KindFacts& kind) {
  return takes_device_memory(kind.kind) && kind.kind != Kind::device;
}

std::set<std::uint16_t> devices_of(const MergedProcess& process) {
  std::set<std::uint16_t> devices;
  for (const ProcessDevice& device : process.devices) devices.insert(device.index);
  for (const KindFacts& kind : process.kinds) {
    if (is_past_the_cache(kind)) devices.insert(kind.device);
  }
  return devices;
}

bool is_on(const KindFacts& kind, std::uint16_t device) {
  return takes_device_memory(kind.kind) && kind.device == device && kind.peak_bytes != 0;
}

struct Parts {
  DeviceSum sum;
  std::vector<UsageBounds> known;  // of each process
  std::uint64_t highest_peak = 0;
  std::size_t memories = 0;                      // devices, once for each process
  std::optional<std::uint64_t> joint_peak = {};  // of the last of them that tells it
};

void add(Parts& parts, const MergedProcess& process, const WantsKind& wants) {
  for (const KindFacts& kind : process.kinds) {
    if (!wants(kind)) continue;
    parts.sum.sum_of_peaks += kind.peak_bytes;
    parts.highest_peak = std::max(parts.highest_peak, kind.peak_bytes);
  }
  parts.known.push_back(usage_bounds(process, wants));
}

PeakBounds bounds_of(const Parts& parts) {
  PeakBounds bounds = sum_bounds(parts.known, {});
  bounds.upper = std::min(parts.sum.sum_of_peaks, bounds.upper);
  bounds.lower = std::max(parts.highest_peak, bounds.lower);
  if (parts.memories == 1 && parts.joint_peak) bounds.upper = *parts.joint_peak;
  bounds.lower = std::min(bounds.lower, bounds.upper);
  return bounds;
}

// What the process itself tells of all its kinds of memory there, if it had several.
void add_memory(Parts& parts, const MergedProcess& process, std::uint16_t device) {
  ++parts.memories;
  if (!has_several_kinds(process, device)) return;
  for (const JointPeak& joint : process.joint_peaks) {
    if (joint.facts.device != device) continue;
    parts.joint_peak = joint.facts.peak_bytes;
    parts.highest_peak = std::max(parts.highest_peak, joint.facts.peak_bytes);
  }
}

void add(Parts& parts, const MergedProcess& process, std::size_t number,
         const ProcessDevice& device) {
  const auto is_its = [&](const KindFacts& kind) { return is_on(kind, device.index); };
  if (std::none_of(process.kinds.begin(), process.kinds.end(), is_its)) return;
  add(parts, process, is_its);
  add_memory(parts, process, device.index);
  if (parts.sum.processes.empty()) {
    parts.sum.host = process.process.hostname;
    parts.sum.name = device.name;
    parts.sum.index = device.index;
  } else if (parts.sum.host != process.process.hostname) {
    parts.sum.host.clear();
  }
  parts.sum.processes.push_back(number);
  parts.sum.ordinals.push_back(device.index);
}

std::uint64_t total(const MergedProcess& process, std::uint64_t KindFacts::*number, bool of_all) {
  std::uint64_t sum = 0;
  for (const KindFacts& kind : process.kinds) {
    if (of_all ? holds_memory(kind.kind) : takes_device_memory(kind.kind)) sum += kind.*number;
  }
  return sum;
}

}  // namespace

std::vector<DeviceSum> device_sums(const std::vector<MergedProcess>& processes) {
  const Gpus gpus(processes);
  std::map<const Gpu*, Parts> devices;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const ProcessDevice& device : processes[i].devices) {
      add(devices[&gpus.of(processes[i], device)], processes[i], i, device);
    }
  }
  std::vector<DeviceSum> sums;
  for (auto& [gpu, parts] : devices) {
    if (parts.sum.processes.empty()) continue;
    parts.sum.uuid = gpu->uuid;
    parts.sum.label = gpu->label;
    parts.sum.place = gpu->place;
    parts.sum.ordinal = gpu->ordinal;
    const PeakBounds bounds = bounds_of(parts);
    parts.sum.lower = bounds.lower;
    parts.sum.upper = bounds.upper;
    sums.push_back(std::move(parts.sum));
  }
  std::sort(sums.begin(), sums.end(),
            [](const DeviceSum& a, const DeviceSum& b) { return a.place < b.place; });
  return sums;
}

PeakBounds peak_bounds(const MergedProcess& process) {
  Parts parts;
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : process.kinds) {
    if (is_on(kind, kind.device)) devices.insert(kind.device);
  }
  add(parts, process, [](const KindFacts& kind) { return is_on(kind, kind.device); });
  for (const std::uint16_t device : devices) add_memory(parts, process, device);
  return bounds_of(parts);
}
PeakBounds peak_bounds(const MergedProcess& process, std::uint16_t device) {
  Parts parts;
  add(parts, process, [&](const KindFacts& kind) { return is_on(kind, device); });
  add_memory(parts, process, device);
  return bounds_of(parts);
}
PeakBounds peak_bounds(const std::vector<MergedProcess>& processes, Kind kind,
                       std::uint16_t device) {
  Parts parts;
  const auto is_it = [&](const KindFacts& held) {
    return held.kind == kind && held.device == device && held.peak_bytes != 0;
  };
  for (const MergedProcess& process : processes) {
    if (has_kind(process, kind, device)) add(parts, process, is_it);
  }
  return bounds_of(parts);
}
PeakBounds peak_bounds(const MergedProcess& process, const WantsKind& wants) {
  Parts parts;
  add(parts, process, wants);
  return bounds_of(parts);
}
std::uint64_t peak_of(const MergedProcess& process) { return peak_bounds(process).upper; }

bool has_kind(const MergedProcess& process, Kind kind, std::uint16_t device) {
  return std::any_of(process.kinds.begin(), process.kinds.end(), [&](const KindFacts& held) {
    return held.kind == kind && held.device == device && held.peak_bytes != 0;
  });
}

bool has_several_kinds(const MergedProcess& process, std::uint16_t device) {
  return std::count_if(process.kinds.begin(), process.kinds.end(), [&](const KindFacts& kind) {
           return takes_device_memory(kind.kind) && kind.device == device && kind.peak_bytes != 0;
         }) > 1;
}

std::uint64_t current_of(const MergedProcess& process) {
  return total(process, &KindFacts::current_bytes, /*of_all=*/false);
}
std::uint64_t allocations_of(const MergedProcess& process) {
  return total(process, &KindFacts::allocations, /*of_all=*/true);
}

PeakBounds reserved_bounds(const MergedProcess& process, std::uint16_t device) {
  PeakBounds bounds;
  for (const ProcessDevice& one : process.devices) {
    if (one.index != device) continue;
    if (one.reserved_most_bytes >= 0)
      return {positive(one.reserved_least_bytes), positive(one.reserved_most_bytes)};
    bounds.lower = bounds.upper = positive(one.reserved_peak_bytes);
  }
  for (const KindFacts& kind : process.kinds) {
    if (!is_past_the_cache(kind) || kind.device != device) continue;
    bounds.lower = std::max(bounds.lower, kind.peak_bytes);
    bounds.upper += kind.peak_bytes;
  }
  return bounds;
}

PeakBounds reserved_bounds(const MergedProcess& process) {
  PeakBounds bounds;
  for (const std::uint16_t device : devices_of(process)) {
    const PeakBounds one = reserved_bounds(process, device);
    bounds.lower = std::max(bounds.lower, one.lower);
    bounds.upper += one.upper;
  }
  bounds.lower = std::clamp(peak_bounds(process).lower, bounds.lower, bounds.upper);
  return bounds;
}

std::uint64_t needed_of(const MergedProcess& process) {
  std::uint64_t idle = 0;
  for (const ProcessDevice& device : process.devices) {
    if (device.needed_most_bytes < 0) continue;
    const std::uint64_t reserved = positive(device.reserved_peak_bytes);
    idle += reserved - std::min(reserved, positive(device.needed_most_bytes));
  }
  const std::uint64_t reserved = reserved_bounds(process).upper;
  return reserved - std::min(idle, reserved);
}

}  // namespace vramscope
