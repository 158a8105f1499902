// GPUs can be identified only after all reports were added. Until then each process's devices are
// separate.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge_devices.h"

#include <algorithm>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

// Adds devices whose memory the report lists, but which it does not describe.
void add_undescribed(MergedProcess& process) {
  for (const KindFacts& kind : process.kinds) {
    const bool is_known =
        std::any_of(process.devices.begin(), process.devices.end(),
                    [&](const ProcessDevice& device) { return device.index == kind.device; });
    if (!has_device(kind.kind) || is_known) continue;
    process.devices.push_back({.index = kind.device, .name = "", .uuid = "", .pci_bus_id = ""});
  }
}

}  // namespace

void renumber(std::uint16_t& device, const DeviceNumbers& numbers) {
  const auto found = numbers.find(device);
  if (found != numbers.end()) device = found->second;
}

void renumber(Kind kind, std::uint16_t& device, const DeviceNumbers& numbers) {
  if (has_device(kind)) renumber(device, numbers);
}

bool has_device(const LedgerEntry& entry) {
  const auto kind = std::find(kKindNames.begin(), kKindNames.end(), entry.kind);
  return kind == kKindNames.end() || has_device(static_cast<Kind>(kind - kKindNames.begin()));
}

void renumber(MergedProcess& process, const DeviceNumbers& numbers) {
  const auto rows = [&](auto& all) {
    for (auto& row : all) renumber(row.kind, row.device, numbers);
  };
  rows(process.kinds);
  rows(process.timeline.series);
  rows(process.live);
  rows(process.oom.events);
  for (JointPeak& joint : process.joint_peaks) renumber(joint.facts.device, numbers);
  for (ProcessDevice& device : process.devices) renumber(device.index, numbers);
}

DeviceNumbers MergedDevices::add(const Report& report, std::vector<MergedProcess>& processes) {
  const Gpus gpus(processes);
  std::map<std::uint16_t, const Gpu*> seen;
  DeviceNumbers numbers;
  for (MergedProcess& process : processes) {
    if (report.processes.empty()) add_undescribed(process);
    DeviceNumbers own;
    for (ProcessDevice& device : process.devices) {
      own[device.index] = ordinal_of(device);
      device.ordinal = ordinal_of(device);
    }
    if (!report.processes.empty()) {
      for (const ProcessDevice& device : process.devices) {
        const Gpu* const gpu = &gpus.of(process, device);
        are_apart_ = are_apart_ && seen.try_emplace(device.index, gpu).first->second == gpu;
      }
    }
    for (const ProcessDevice& device : process.devices) {
      numbers.try_emplace(device.index, number_of(process, device));
    }
    renumber(process, own);
  }
  return numbers;
}

std::uint16_t MergedDevices::number_of(const MergedProcess& process, const ProcessDevice& device) {
  const std::uint16_t ordinal = ordinal_of(device);
  const DeviceIdentity identity = identity_of(process, device);
  identities_.insert(identity);
  are_apart_ = are_apart_ && identities_.size() <= kMaxDevices;
  if (!are_apart_) return ordinal;
  const auto next = static_cast<std::uint16_t>(kMaxDevices + numbers_.size());
  return numbers_.try_emplace({identity, ordinal}, next).first->second;
}

DeviceNumbers MergedDevices::finish(std::vector<MergedProcess>& processes) const {
  const Gpus gpus(processes);
  DeviceNumbers numbers;
  for (const auto& [own, number] : numbers_) {
    if (!are_apart_) numbers[number] = own.second;
  }
  if (!are_apart_) return numbers;
  for (MergedProcess& process : processes) {
    DeviceNumbers by_ordinal;
    for (const ProcessDevice& device : process.devices) {
      const std::uint16_t number = gpus.of(process, device).number;
      by_ordinal[device.index] = number;
      const auto known = numbers_.find({identity_of(process, device), ordinal_of(device)});
      if (known != numbers_.end()) numbers[known->second] = number;
    }
    renumber(process, by_ordinal);
  }
  return numbers;
}

}  // namespace vramscope
