// Determines the identities first, then the order, from which numbers and names follow.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/gpus.h"

#include <algorithm>
#include <utility>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

// Returns "1b:00.0" for "0000:1b:00.0": the domain is 0 on all but the largest machines.
std::string short_bus(const std::string& bus) {
  const std::size_t colon = bus.find(':');
  const bool has_domain = colon != bus.npos && bus.find(':', colon + 1) != bus.npos;
  const bool is_zero = has_domain && bus.find_first_not_of('0') >= colon;
  return is_zero ? bus.substr(colon + 1) : bus;
}

// Returns "GPU-1a2b3c4d", as much as people type of a UUID.
std::string short_uuid(const std::string& uuid) {
  constexpr std::size_t kLength = 12;
  return uuid.substr(0, kLength);
}

bool has_uuid(const DeviceIdentity& identity, const Gpu& gpu) {
  return !gpu.uuid.empty() && std::get<1>(identity) == gpu.uuid;
}

// Keeps the smallest known text, so that the order of reports does not matter.
void keep_least(std::string& sum, const std::string& more) {
  if (sum.empty() || (!more.empty() && more < sum)) sum = more;
}

void add(Gpu& sum, const Gpu& more) {
  sum.hosts.insert(more.hosts.begin(), more.hosts.end());
  keep_least(sum.uuid, more.uuid);
  keep_least(sum.pci_bus_id, more.pci_bus_id);
  sum.ordinal = std::max(sum.ordinal, more.ordinal);
}

auto order_of(const Gpu& gpu) {
  return std::tuple(*gpu.hosts.begin(), gpu.ordinal, gpu.pci_bus_id, gpu.uuid);
}

// Returns what distinguishes GPUs with one ordinal on one host: "at 1b:00.0".
std::string apart(const Gpu& gpu, const std::vector<const Gpu*>& alike) {
  const auto count = [&](auto&& word) {
    std::set<std::string> words;
    for (const Gpu* one : alike) words.insert(word(*one));
    return words.size();
  };
  const auto bus = [](const Gpu& one) { return short_bus(one.pci_bus_id); };
  const auto uuid = [](const Gpu& one) { return short_uuid(one.uuid); };
  if (count(bus) == alike.size() && !gpu.pci_bus_id.empty()) return " at " + bus(gpu);
  if (count(uuid) == alike.size() && !gpu.uuid.empty()) return " (" + uuid(gpu) + ")";
  return gpu.uuid.empty() ? "" : " (" + gpu.uuid + ")";
}

}  // namespace

std::uint16_t ordinal_of(const ProcessDevice& device) {
  return device.ordinal < 0 ? device.index : static_cast<std::uint16_t>(device.ordinal);
}

DeviceIdentity identity_of(const MergedProcess& process, const ProcessDevice& device) {
  const bool everywhere = !device.uuid.empty() && !process.process.simulated;
  if (everywhere) return {"", device.uuid, 0};
  if (!device.uuid.empty()) return {process.process.hostname, device.uuid, 0};
  if (!device.pci_bus_id.empty()) return {process.process.hostname, device.pci_bus_id, 0};
  return {process.process.hostname, "", ordinal_of(device)};
}

Gpus::Gpus(const std::vector<MergedProcess>& processes) {
  for (const MergedProcess& process : processes) {
    for (const ProcessDevice& device : process.devices) {
      add(gpus_[identity_of(process, device)], {.hosts = {process.process.hostname},
                                                .uuid = device.uuid,
                                                .pci_bus_id = device.pci_bus_id,
                                                .ordinal = ordinal_of(device)});
    }
  }
  unite();
  for (auto& [identity, gpu] : gpus_) order_.push_back(&gpu);
  std::stable_sort(order_.begin(), order_.end(),
                   [](const Gpu* a, const Gpu* b) { return order_of(*a) < order_of(*b); });
  number();
  name();
}

const Gpu& Gpus::of(const MergedProcess& process, const ProcessDevice& device) const {
  const DeviceIdentity identity = identity_of(process, device);
  const auto same = same_.find(identity);
  return gpus_.at(same == same_.end() ? identity : same->second);
}

void Gpus::unite() {
  for (const auto& [identity, gpu] : gpus_) {
    if (has_uuid(identity, gpu)) continue;
    const DeviceIdentity* found = nullptr;
    std::size_t count = 0;
    for (const auto& [other, known] : gpus_) {
      if (!has_uuid(other, known) || !known.hosts.contains(*gpu.hosts.begin())) continue;
      const bool is_same = gpu.pci_bus_id.empty() ? known.ordinal == gpu.ordinal
                                                  : known.pci_bus_id == gpu.pci_bus_id;
      if (!is_same) continue;
      found = &other;
      ++count;
    }
    if (count == 1) same_.emplace(identity, *found);
  }
  for (const auto& [identity, same] : same_) {
    add(gpus_[same], gpus_[identity]);
    gpus_.erase(identity);
  }
}

void Gpus::number() {
  std::set<std::uint16_t> ordinals;
  for (const Gpu* gpu : order_) ordinals.insert(gpu->ordinal);
  const bool are_numbers = ordinals.size() == order_.size();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    order_[i]->place = i;
    order_[i]->number = are_numbers ? order_[i]->ordinal : static_cast<std::uint16_t>(i);
  }
}

void Gpus::name() {
  std::set<std::string> hosts;
  std::map<std::pair<std::string, std::uint16_t>, std::vector<const Gpu*>> alike;
  for (const Gpu* gpu : order_) {
    hosts.insert(gpu->hosts.begin(), gpu->hosts.end());
    alike[{gpu->host(), gpu->ordinal}].push_back(gpu);
  }
  for (Gpu* gpu : order_) {
    const std::string host = gpu->host();
    const std::vector<const Gpu*>& same = alike[{host, gpu->ordinal}];
    gpu->name = "GPU " + std::to_string(gpu->ordinal);
    if (same.size() > 1) gpu->name += apart(*gpu, same);
    gpu->label = gpu->name;
    if (hosts.size() > 1 && !host.empty()) gpu->label += " of " + host;
  }
}

void label_gpus(Report& report) {
  if (report.processes.empty()) return;
  const Gpus gpus(report.processes);
  std::map<std::uint16_t, std::set<const Gpu*>> entries;
  for (const MergedProcess& process : report.processes) {
    for (const ProcessDevice& device : process.devices) {
      entries[device.index].insert(&gpus.of(process, device));
    }
  }
  for (DeviceReport& device : report.devices) {
    const std::set<const Gpu*>& its = entries[device.facts.index];
    if (its.empty()) continue;
    device.label = its.size() == 1 ? (*its.begin())->label
                                   : "GPU " + std::to_string(device.facts.index) + " (sum of " +
                                         std::to_string(its.size()) + ")";
  }
}

std::string numbers_of_gpus(const Report& report) {
  std::string text;
  for (const DeviceReport& device : report.devices) {
    const std::string number = std::to_string(device.facts.index);
    if (device.label.empty() || device.label == "GPU " + number) continue;
    text += (text.empty() ? "" : ", ") + number + " is " + device.label;
  }
  return text;
}

}  // namespace vramscope
