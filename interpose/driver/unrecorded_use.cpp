// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/unrecorded_use.h"

#include <algorithm>
#include <string>

#include "interpose/base/clock.h"
#include "interpose/driver/cuda_backend.h"
#include "interpose/driver/device_facts.h"
#include "interpose/loader/real.h"
#include "interpose/settings/startup.h"
#include "interpose/settings/use_question.h"

namespace vramscope {
namespace {

constexpr int kMostTries = 4;  // to measure without another process making a context meanwhile

std::int64_t difference(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
}

}  // namespace

void UnrecordedUse::note_free(std::uint16_t device, std::uint64_t free_bytes,
                              std::uint64_t total_bytes) noexcept {
  const std::uint64_t used = total_bytes - std::min(free_bytes, total_bytes);
  const DeviceCapacity now = allocator_.capacity(device);
  const std::uint64_t held = now.held + now.rounding;
  const std::uint64_t outside = used - std::min(held, used);  // managed pages may be on the host
  allocator_.note_unrecorded(device, outside);
  note_unrecorded(device, outside);
}

void UnrecordedUse::note_unrecorded(std::uint16_t device, std::uint64_t bytes) noexcept {
  const std::uint64_t managed = allocator_.capacity(device).managed;
  const std::optional<Kept> kept = ask_pools(device, bytes);
  {
    const SystemLock lock(mutex_);
    set_outside(device, bytes);
    managed_[device] = managed;
    if (kept) kept_[device] = *kept;
  }
  publish(device, Tell::of_a_sample);
}

// Freed memory stays in the pool, and counts as used there until its stream has reached the free.
// Returns nothing while a stream is captured, because the question would end the capture.
std::optional<UnrecordedUse::Kept> UnrecordedUse::ask_pools(std::uint16_t device,
                                                            std::uint64_t outside) noexcept {
  if (captures_.any()) return std::nullopt;
  const PoolUse use = pools_.use(device);
  const std::uint64_t live = allocator_.capacity(device).in_pools;
  const std::uint64_t kept = use.reserved_bytes - std::min(use.reserved_bytes, live);
  const std::uint64_t idle = use.reserved_bytes - std::min(use.reserved_bytes, use.used_bytes);
  // Live memory of an attached process may be from before.
  if (startup().is_attached) {
    before_.saw(
        device,
        {.outside_bytes = outside, .reserved_bytes = use.reserved_bytes, .idle_bytes = idle});
    return Kept{.bytes = idle};
  }
  return Kept{.bytes = kept, .pending_bytes = kept - std::min(kept, idle)};
}

// The end of an import is not reported, so exported memory is only bounded by the used memory.
void UnrecordedUse::set_outside(std::uint16_t device, std::uint64_t bytes) {
  outside_[device] = bytes;
  exported_[device] = std::min(exported_[device], bytes);
}

void UnrecordedUse::freed_from_before(const FromBefore::Block& block) noexcept {
  if (block.bytes == 0) return;
  before_.freed(block);
  if (block.is_pooled) {
    pools_.served(block.device);  // asked from now on
  } else {
    const SystemLock lock(mutex_);
    std::uint64_t& outside = outside_[block.device];
    outside -= std::min(block.bytes, outside);
  }
  publish(block.device);
}

void UnrecordedUse::gave_up_exported(std::uint16_t device, std::uint64_t bytes) noexcept {
  {
    const SystemLock lock(mutex_);
    exported_[device] += bytes;
  }
  publish(device);
}

std::optional<std::uint64_t> UnrecordedUse::measure(std::uint16_t device) noexcept {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (real().cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS) return std::nullopt;
  backend_.note_free_memory(device, free_bytes, total_bytes);
  const SystemLock lock(mutex_);
  return outside_[device];
}

std::optional<std::uint64_t> UnrecordedUse::used_before(CUdevice device) noexcept {
  if (startup().note_file.empty()) return std::nullopt;
  try {
    const std::string all = free_before_in(startup().note_file.c_str());
    const std::optional<std::uint64_t> bytes = free_before(all, uuid_of(device));
    std::size_t total = 0;
    const bool known = bytes && real().cuDeviceTotalMem_v2(&total, device) == CUDA_SUCCESS;
    if (known && *bytes <= total) return total - *bytes;
  } catch (...) {  // no memory for a name: unknown
  }
  return std::nullopt;
}

UnrecordedUse::Part* UnrecordedUse::part_of(CUcontext context, std::uint16_t device) {
  const auto known = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const Part& part) { return part.context == context; });
  if (known != parts_.end()) return &*known;
  try {
    return &parts_.emplace_back(Part{.context = context, .device = device});
  } catch (...) {  // no memory: it counts with the others
    return nullptr;
  }
}

void UnrecordedUse::made_context(CUcontext context, std::uint16_t device, std::uint64_t before,
                                 std::uint64_t after) noexcept {
  {
    const SystemLock lock(mutex_);
    if (Part* part = part_of(context, device)) {
      part->context_bytes += difference(before, after);
      part->is_measured = true;
    }
    Told& told = told_[device];
    if (told.context_bytes != 0)
      told.driver_bytes += told.context_bytes;  // assumed as large as the first
  }
  bound_contexts(device);
  publish(device);
}

// Each try gives an upper bound: the counted processes have their contexts, and others may have
// made more.
void UnrecordedUse::made_first_context(CUcontext context, std::uint16_t device,
                                       std::uint64_t before) noexcept {
  announce(device, before);
  std::optional<std::uint64_t> taken;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const unsigned contexts = peers_.made_since(device);
    const auto after = measure(device);
    if (!after) break;
    const std::uint64_t came = *after - std::min(before, *after);
    const std::uint64_t each = (came + contexts - 1) / contexts;
    taken = std::min(taken.value_or(each), each);
    if (peers_.made_since(device) == contexts) break;
  }
  if (!taken) return;
  peers_.tell(device, *taken);
  made_context(context, device, 0, *taken);
  measure_first_context(device);
}

std::uint64_t UnrecordedUse::contexts_on(std::uint16_t device) const {
  const auto on_device = [&](const Part& part) { return part.device == device; };
  return static_cast<std::uint64_t>(std::count_if(parts_.begin(), parts_.end(), on_device));
}

void UnrecordedUse::announce(std::uint16_t device, std::uint64_t before) noexcept {
  if (is_simulated_for_one_process()) return;  // another process's device has the same name
  try {
    peers_.announce(device, uuid_of(device), before);
  } catch (...) {  // no memory for a name: this process seems to be alone
  }
}

void UnrecordedUse::bound_contexts(std::uint16_t device) {
  const std::optional<std::uint64_t> least = peers_.least_taken(device);
  if (!least) return;
  const SystemLock lock(mutex_);
  for (Part& part : parts_) {
    if (part.device != device || !part.is_measured) continue;
    const bool is_right = part.context_bytes > 0 && positive(part.context_bytes) <= *least;
    if (!is_right) part.context_bytes = static_cast<std::int64_t>(*least);
  }
}

void UnrecordedUse::changed_code(CUcontext context, std::uint16_t device, std::uint64_t before,
                                 std::uint64_t after) noexcept {
  if (before == after) return;
  {
    const SystemLock lock(mutex_);
    if (Part* part = part_of(context, device)) part->module_bytes += difference(before, after);
  }
  publish(device);
}

// There may be no context left in which the driver could be asked, so the measured part is removed
// with its context.
void UnrecordedUse::ended(CUcontext context, std::optional<std::uint16_t> device) noexcept {
  if (device && !is_measured(context)) {
    const std::uint64_t had = before_.ended(*device);
    {
      const SystemLock lock(mutex_);
      outside_[*device] -= std::min(had, outside_[*device]);
    }
    publish(*device);
  }
  if (const auto known = remove(context)) publish(*known);
}

bool UnrecordedUse::is_measured(CUcontext context) const noexcept {
  const SystemLock lock(mutex_);
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return part.context == context && part.is_measured; });
}

std::optional<std::uint16_t> UnrecordedUse::remove(CUcontext context) noexcept {
  const SystemLock lock(mutex_);
  const auto of_context = [&](const Part& part) { return part.context == context; };
  const auto ending = std::find_if(parts_.begin(), parts_.end(), of_context);
  if (ending == parts_.end()) return std::nullopt;
  const std::uint16_t device = ending->device;
  std::uint64_t& outside = outside_[device];
  outside -= std::min(outside, positive(ending->context_bytes + ending->module_bytes));
  Told& told = told_[device];
  const std::uint64_t told_bytes =
      told.driver_bytes / std::max<std::uint64_t>(contexts_on(device), 1);
  if (told.context_bytes != 0) told.driver_bytes -= told_bytes;
  parts_.erase(ending);
  if (contexts_on(device) == 0) peers_.withdraw(device);
  return device;
}

MeasuredBy UnrecordedUse::measure_of(std::uint16_t device) const {
  if (told_[device].context_bytes != 0) return MeasuredBy::nvml;
  if (contexts_on(device) == 0) return MeasuredBy::none;
  const auto is_unknown = [&](const Part& part) {
    return part.device == device && !part.is_measured;
  };
  const bool are_known = std::none_of(parts_.begin(), parts_.end(), is_unknown);
  return are_known && is_simulated_for_one_process() ? MeasuredBy::alone : MeasuredBy::difference;
}

UnrecordedUse::Figures UnrecordedUse::figures(std::uint16_t device) {
  bound_contexts(device);
  return sum(device);
}

UnrecordedUse::Figures UnrecordedUse::sum(std::uint16_t device) const {
  const SystemLock lock(mutex_);
  std::int64_t contexts = 0;
  std::int64_t modules = 0;
  for (const Part& part : parts_) {
    if (part.device != device) continue;
    contexts += part.context_bytes;
    modules += part.module_bytes;
  }
  // Known memory cannot be hidden by managed memory, whose pages may be on the host.
  const Told& told = told_[device];
  const bool is_told = told.context_bytes != 0;
  if (is_told) {
    const std::uint64_t of_all =
        std::min(told.context_bytes * contexts_on(device), told.driver_bytes);
    contexts = static_cast<std::int64_t>(of_all);
    modules = static_cast<std::int64_t>(told.driver_bytes - of_all);
  }
  const Kept& kept = kept_[device];
  const std::uint64_t others = positive(contexts) + positive(modules) + exported_[device];
  const std::uint64_t known = others + kept.bytes;
  const std::uint64_t most = outside_[device] + managed_[device];
  const std::uint64_t outside = std::max(outside_[device], std::min(known, most));
  const std::uint64_t in_pools = std::min(kept.bytes, outside - std::min(outside, others));
  return {.outside_bytes = outside,
          .context_bytes = positive(contexts),
          .module_bytes = positive(modules),
          .measure = measure_of(device),
          .exported_bytes = exported_[device],
          .pool_bytes = in_pools,
          .pool_pending_bytes = std::min(kept.pending_bytes, in_pools),
          .before_bytes = before_.bytes(device)};
}

void UnrecordedUse::begin_telling() noexcept {
  const SystemLock lock(mutex_);
  traced_ = {};
  is_telling_.store(true, std::memory_order_release);
}

void UnrecordedUse::tell(std::uint16_t device, Tell tells) noexcept {
  if (!is_telling_.load(std::memory_order_acquire)) return;
  const Figures now = sum(device);
  UnrecordedChange change{.device = device,
                          .total_bytes = backend_.free_memory(device).total_bytes,
                          .kept_bytes = now.context_bytes + now.module_bytes,
                          .at_ns = now_ns(),
                          .serial = allocator_.newest()};
  {
    const SystemLock lock(mutex_);
    UnrecordedChange& last = traced_[device];
    change.unrecorded_bytes = outside_[device];
    const bool is_same = last.total_bytes == change.total_bytes &&
                         last.unrecorded_bytes == change.unrecorded_bytes &&
                         last.kept_bytes == change.kept_bytes;
    if (is_same && tells == Tell::of_changes) return;
    last = change;
  }
  callback_.function(callback_.context, change);
}

// Like UsedDevices::facts(), except for figures from other processes, which cost a system call.
void UnrecordedUse::publish(std::uint16_t device, Tell tells) noexcept {
  // On a GPU of the limit's size, contexts and code would take their part of it.
  if (allocator_.capacity(device).limit != Limits::kUnlimited) {
    const Figures now = sum(device);
    allocator_.set_capacity(device, {}, now.context_bytes + now.module_bytes);
  }
  tell(device, tells);
  live_.set_simulated_launches(simulated_launches());
  live_.change_device(device, now_ns(), [&](LiveDeviceNumbers& numbers) {
    const FreeMemory memory = backend_.free_memory(device);
    const DeviceCapacity capacity = allocator_.capacity(device);
    const Figures figures = sum(device);
    numbers.free_bytes = memory.free_bytes;
    numbers.free_taken_ns = memory.taken_ns;
    numbers.limit_bytes = capacity.limit == Limits::kUnlimited ? 0 : capacity.limit;
    numbers.limit_refusals = capacity.refusals;
    numbers.outside_bytes = figures.outside_bytes;
    numbers.context_bytes = figures.context_bytes;
    numbers.module_bytes = figures.module_bytes;
    numbers.measure = figures.measure;
    numbers.exported_bytes = figures.exported_bytes;
    numbers.pool_bytes = figures.pool_bytes;
    numbers.pool_pending_bytes = figures.pool_pending_bytes;
    numbers.before_bytes = figures.before_bytes;
    numbers.pages = backend_.pages().times(device);
  });
}

}  // namespace vramscope
