// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_process.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "allocator/base/live_layout.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kLayout =
    live_layout({sizeof(LiveHeader), sizeof(LiveProcessRoot), sizeof(LiveDevice),
                 sizeof(LiveDeviceNumbers), kLiveParts});

std::string text_of(const LiveText& text) { return {text.first, text.bytes}; }

std::vector<std::string> texts_of(const LiveTexts& texts) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < texts.count; ++i) all.push_back(text_of(texts.first[i]));
  return all;
}

ProcessFacts process_of(const LiveProcessRoot& root) {
  ProcessFacts facts;
  facts.pid = root.owner.pid;
  facts.ppid = root.ppid;
  facts.hostname = text_of(root.hostname);
  facts.executable = text_of(root.executable);
  facts.arguments = texts_of(root.arguments);
  facts.rank = root.rank;
  facts.local_rank = root.local_rank;
  facts.world_size = root.world_size;
  facts.restart = root.restart;
  facts.job = text_of(root.job);
  facts.launcher = text_of(root.launcher);
  facts.start_time_ns = root.start_time_ns;
  facts.report_time_ns =
      root.wall_ns + (root.last_ns.load(std::memory_order_relaxed) - root.clock_ns);
  facts.mode = text_of(root.mode);
  const std::uint64_t options = std::min(root.option_names.count, root.option_values.count);
  for (std::uint64_t i = 0; i < options; ++i) {
    facts.options.emplace_back(text_of(root.option_names.first[i]),
                               text_of(root.option_values.first[i]));
  }
  facts.cuda_driver_version = root.cuda_driver_version;
  facts.simulated = root.is_simulated != 0;
  facts.simulated_launches = root.simulated_launches.load(std::memory_order_relaxed);
  return facts;
}

DeviceFacts device_of(const LiveDevice& device, std::uint64_t last_ns) {
  const LiveDeviceNumbers& numbers = device.numbers.read();
  return {.index = device.index,
          .name = text_of(device.name),
          .uuid = text_of(device.uuid),
          .pci_bus_id = text_of(device.pci_bus_id),
          .compute_capability = text_of(device.compute_capability),
          .unified = device.unified,
          .total_bytes = numbers.total_bytes,
          .free_bytes = numbers.free_bytes,
          .free_bytes_age_ns = last_ns - std::min(numbers.free_taken_ns, last_ns),
          .limit_bytes = numbers.limit_bytes,
          .limit_refusals = numbers.limit_refusals,
          .outside_bytes = numbers.outside_bytes,
          .context_bytes = numbers.context_bytes,
          .module_bytes = numbers.module_bytes,
          .measured_by = word_of(numbers.measure),
          .exported_bytes = numbers.exported_bytes,
          .pool_bytes = numbers.pool_bytes,
          .pool_pending_bytes = numbers.pool_pending_bytes,
          .before_bytes = numbers.before_bytes,
          .pages = numbers.pages};
}

}  // namespace

bool LiveProcess::keep(LiveText& to, const std::string& text) noexcept {
  auto* const bytes = static_cast<char*>(memory_->allocate(text.size() + 1, 1));
  if (bytes == nullptr) return false;
  std::memcpy(bytes, text.data(), text.size());
  to = {bytes, text.size()};
  return true;
}

bool LiveProcess::keep(LiveTexts& to, const std::vector<std::string>& texts) noexcept {
  auto* const kept = static_cast<LiveText*>(memory_->allocate(
      std::max<std::size_t>(texts.size(), 1) * sizeof(LiveText), alignof(LiveText)));
  if (kept == nullptr) return false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!keep(kept[i], texts[i])) return false;
  }
  to = {kept, texts.size()};
  return true;
}

bool LiveProcess::fill(LiveProcessRoot& root, const LiveStart& start) noexcept {
  const ProcessFacts& process = start.process;
  root.owner = this_owner();
  root.owner.is_locked = start.is_locked ? 1 : 0;
  root.layout = kLayout;
  root.ppid = process.ppid;
  root.rank = process.rank;
  root.local_rank = process.local_rank;
  root.world_size = process.world_size;
  root.restart = process.restart;
  root.start_time_ns = process.start_time_ns;
  root.wall_ns = process.report_time_ns;
  root.clock_ns = start.clock_ns;
  root.last_ns.store(start.clock_ns, std::memory_order_relaxed);
  root.sample_bytes = start.sample_bytes;
  root.cuda_driver_version = process.cuda_driver_version;
  root.is_simulated = process.simulated ? 1 : 0;
  try {
    std::vector<std::string> names;
    std::vector<std::string> values;
    for (const auto& [name, value] : process.options) {
      names.push_back(name);
      values.push_back(value);
    }
    return keep(root.hostname, process.hostname) && keep(root.executable, process.executable) &&
           keep(root.mode, process.mode) && keep(root.trace_path, start.trace_path) &&
           keep(root.job, process.job) && keep(root.launcher, process.launcher) &&
           keep(root.arguments, process.arguments) && keep(root.option_names, names) &&
           keep(root.option_values, values) && keep(root.function_names, start.function_names);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool LiveProcess::begin(LiveMemory& memory, const LiveStart& start) noexcept {
  if (!memory.is_live()) return false;
  memory_ = &memory;
  auto* const root = memory.make<LiveProcessRoot>();
  if (root == nullptr || !fill(*root, start)) return false;
  root_ = root;
  set_next_report(1, start.next_report);
  set_owner(*memory.header(), root->owner);
  memory.header()->process.store(root, std::memory_order_release);
  return true;
}

void LiveProcess::add_device(const DeviceFacts& facts, std::uint64_t now_ns) noexcept {
  if (root_ == nullptr || facts.index >= kMaxDevices) return;
  const SystemLock lock(mutex_);
  if (devices_[facts.index] != nullptr) return;
  auto* const device = memory_->make<LiveDevice>();
  if (device == nullptr) return;
  device->index = facts.index;
  device->unified = facts.unified;
  if (!keep(device->name, facts.name) || !keep(device->uuid, facts.uuid) ||
      !keep(device->pci_bus_id, facts.pci_bus_id) ||
      !keep(device->compute_capability, facts.compute_capability)) {
    return;
  }
  device->numbers.write([&](LiveDeviceNumbers& numbers) {
    numbers.total_bytes = facts.total_bytes;
    numbers.free_bytes = facts.free_bytes;
    numbers.free_taken_ns = now_ns;
  });
  devices_[facts.index] = device;
  root_->devices[facts.index].store(device, std::memory_order_release);
  root_->last_ns.store(now_ns, std::memory_order_relaxed);
}

void LiveProcess::set_next_report(std::uint64_t sequence, const std::string& path) noexcept {
  if (root_ == nullptr) return;
  root_->next_report.write([&](LiveNextReport& next) {
    next.sequence = sequence;
    next.path = {};
    if (path.size() < next.path.size()) path.copy(next.path.data(), path.size());
  });
}

void LiveProcess::set_last_report(const std::string& path) noexcept {
  if (root_ != nullptr) set_next_report(root_->next_report.read().sequence, path);
}

void LiveProcess::set_simulated_launches(std::uint64_t launches) noexcept {
  if (root_ != nullptr) root_->simulated_launches.store(launches, std::memory_order_relaxed);
}

RecoveredProcess recover_process(const LiveHeader& header) {
  const auto* const root =
      static_cast<const LiveProcessRoot*>(header.process.load(std::memory_order_acquire));
  if (root == nullptr) throw std::runtime_error("it says nothing of its process yet");
  if (root->layout != kLayout) {
    throw std::runtime_error(
        "it was written by another version of Vramscope than " VRAMSCOPE_VERSION);
  }
  const LiveNextReport& next = root->next_report.read();
  RecoveredProcess found{
      .process = process_of(*root),
      .devices = {},
      .sample_bytes = root->sample_bytes,
      .function_names = texts_of(root->function_names),
      .trace_path = text_of(root->trace_path),
      .next_sequence = next.sequence,
      .next_report = {next.path.data(), strnlen(next.path.data(), next.path.size())},
      .owner = root->owner,
      .wall_ns = root->wall_ns,
      .clock_ns = root->clock_ns};
  const std::uint64_t last_ns = root->last_ns.load(std::memory_order_relaxed);
  for (const auto& device : root->devices) {
    const LiveDevice* const known = device.load(std::memory_order_acquire);
    if (known != nullptr) found.devices.push_back(device_of(*known, last_ns));
  }
  return found;
}

}  // namespace vramscope
