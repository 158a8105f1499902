// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/used_devices.h"

#include <exception>
#include <utility>

#include "interpose/base/clock.h"
#include "interpose/driver/device_facts.h"

namespace vramscope {

void UsedDevices::note(std::uint16_t device) noexcept {
  try {
    DeviceFacts facts = ask_device(device);
    live_.add_device(facts, now_ns());
    if (facts.unified) {
      const DeviceCapacity now = allocator_.capacity(device);
      allocator_.set_capacity(device, {}, now.kept, CachingAllocator::Memory::is_hosts);
    }
    backend_.note_free_memory(device, facts.free_bytes, facts.total_bytes);
    const SystemLock lock(mutex_);
    devices_.push_back(std::move(facts));
  } catch (const std::exception&) {
    recorder_.warn("a device could not be described: out of memory");
  }
}

// An abandoned lock throws LockLost, which functions for the last report must let through.
static_assert(!noexcept(std::declval<const PageMemory&>().times(0)));

std::vector<DeviceFacts> UsedDevices::facts() {
  std::vector<DeviceFacts> copy;
  {
    const SystemLock lock(mutex_);
    copy = devices_;
  }
  for (DeviceFacts& facts : copy) {
    const FreeMemory memory = backend_.free_memory(facts.index);
    facts.free_bytes = memory.free_bytes;
    facts.free_bytes_age_ns = now_ns() - memory.taken_ns;
    const DeviceCapacity capacity = allocator_.capacity(facts.index);
    if (capacity.limit != Limits::kUnlimited) facts.limit_bytes = capacity.limit;
    facts.limit_refusals = capacity.refusals;
    facts.other_processes = use_.ask_nvml(facts.index);
    const UnrecordedUse::Figures figures = use_.figures(facts.index);
    facts.outside_bytes = figures.outside_bytes;
    facts.context_bytes = figures.context_bytes;
    facts.module_bytes = figures.module_bytes;
    facts.measured_by = word_of(figures.measure);
    facts.exported_bytes = figures.exported_bytes;
    facts.pool_bytes = figures.pool_bytes;
    facts.pool_pending_bytes = figures.pool_pending_bytes;
    facts.before_bytes = figures.before_bytes;
    facts.pages = backend_.pages().times(facts.index);
  }
  return copy;
}

}  // namespace vramscope
