// Matches numbers by the GPUs that they stand for, then renumbers each part of the report.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/diff/same_gpus.h"

#include <map>
#include <set>
#include <string>

#include "reporter/report/gpus.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/merged_process.h"

namespace vramscope {
namespace {

// What one number of a report stands for: several GPUs where a merged report adds them up.
struct NumberedGpus {
  std::set<const Gpu*> gpus;
  std::set<std::string> uuids;
};
using ByNumber = std::map<std::uint16_t, NumberedGpus>;

ByNumber by_number(const std::vector<MergedProcess>& processes, const Gpus& all) {
  ByNumber numbers;
  for (const MergedProcess& process : processes) {
    for (const ProcessDevice& device : process.devices) {
      NumberedGpus& one = numbers[device.index];
      one.gpus.insert(&all.of(process, device));
      if (!device.uuid.empty()) one.uuids.insert(device.uuid);
    }
    for (const KindFacts& kind : process.kinds) {
      if (has_device(kind.kind))
        numbers.try_emplace(kind.device);  // the report may not describe it
    }
  }
  return numbers;
}

bool are_same_gpus(const ByNumber::value_type& was, const ByNumber::value_type& is) {
  return !was.second.gpus.empty() && was.second.gpus == is.second.gpus;
}

// Simulated GPUs have one UUID on every host, where they are different GPUs.
bool have_same_uuids(const ByNumber::value_type& was, const ByNumber::value_type& is) {
  return !was.second.uuids.empty() && was.second.uuids == is.second.uuids &&
         was.second.gpus.size() == is.second.gpus.size();
}

bool have_same_number(const ByNumber::value_type& was, const ByNumber::value_type& is) {
  return was.first == is.first;
}

// Moves what matches out of `was` and `is`.
template <class IsSame>
void match(ByNumber& was, ByNumber& is, IsSame&& is_same, DeviceNumbers& numbers) {
  for (auto one = was.begin(); one != was.end();) {
    auto found = is.begin();
    while (found != is.end() && !is_same(*one, *found)) ++found;
    if (found == is.end()) {
      ++one;
      continue;
    }
    numbers[one->first] = found->first;
    is.erase(found);
    one = was.erase(one);
  }
}

// Returns the new number of each number of `before`; `left` becomes those that `after` lacks.
DeviceNumbers matched(const Report& before, const Report& after, std::set<std::uint16_t>& left) {
  const std::vector<MergedProcess> first = merged_processes(before);
  const std::vector<MergedProcess> second = merged_processes(after);
  std::vector<MergedProcess> both = first;
  both.insert(both.end(), second.begin(), second.end());
  const Gpus all(both);
  ByNumber was = by_number(first, all);
  ByNumber is = by_number(second, all);
  std::set<std::uint16_t> taken;
  for (const auto& [number, gpus] : is) taken.insert(number);
  DeviceNumbers numbers;
  for (const auto is_same : {are_same_gpus, have_same_uuids}) {
    const auto is_there = [&](const auto& a, const auto& b) {
      return have_same_number(a, b) && is_same(a, b);
    };
    match(was, is, is_there, numbers);
    match(was, is, is_same, numbers);
  }
  match(was, is, have_same_number, numbers);
  for (const auto& [number, gpus] : was) {
    std::uint16_t free = number;
    for (std::uint16_t next = 0; !taken.insert(free).second; ++next) free = next;
    numbers[number] = free;
    left.insert(number);
  }
  return numbers;
}

// A name that no GPU of `after` has.
std::string name_apart(const Report& before, std::uint16_t number, const Report& after) {
  constexpr std::size_t kAsTyped = 12;  // "GPU-1a2b3c4d"
  std::string name = gpu_name(before, number);
  std::string uuid;
  for (const DeviceReport& device : before.devices) {
    if (device.facts.index == number) uuid = device.facts.uuid.substr(0, kAsTyped);
  }
  for (const DeviceReport& device : after.devices) {
    if (gpu_name(after, device.facts.index) != name) continue;
    return name + " (" + (uuid.empty() ? "another" : uuid) + ")";
  }
  return name;
}

void renumber_all(Report& report, const DeviceNumbers& numbers) {
  const auto rows = [&](auto& all) {
    for (auto& row : all) renumber(row.kind, row.device, numbers);
  };
  rows(report.kinds);
  rows(report.axes);
  rows(report.timeline.series);
  rows(report.oom.events);
  rows(report.host.segments);
  rows(report.host.registrations);
  for (Site& site : report.sites) rows(site.parts);
  for (DeviceReport& device : report.devices) {
    rows(device.segments);
    renumber(device.facts.index, numbers);
  }
  for (LedgerEntry& entry : report.ledger) {
    if (has_device(entry)) renumber(entry.device, numbers);
  }
  if (report.cupti) rows(report.cupti->differences);
  for (JointPeak& joint : report.joint_peaks) renumber(joint.facts.device, numbers);
  for (JointBounds& bounds : report.joint_bounds) renumber(bounds.device, numbers);
  for (MergedProcess& process : report.processes) renumber(process, numbers);
}

}  // namespace

void number_gpus_as_in(const Report& after, Report& before) {
  std::set<std::uint16_t> left;
  const DeviceNumbers numbers = matched(before, after, left);
  for (DeviceReport& device : before.devices) {
    if (!left.contains(device.facts.index)) continue;
    device.label = name_apart(before, device.facts.index, after);
  }
  renumber_all(before, numbers);
}

}  // namespace vramscope
