// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/profiler.h"

#include <algorithm>

#include "interpose/base/clock.h"

namespace vramscope {

constinit ForkMark Profiler::current_;

Profiler::Profiler(const Options& options, const Limits& limits, LiveMemory* live)
    : options_(options),
      limits_capacity_(options.device_memory_limit.any()),
      stack_distance_(options.sample_bytes.value),
      started_ns_(now_ns()),
      backend_(contexts_, captures_),
      allocator_(backend_, limits, live, started_ns_),
      exporters_(options.mode == Mode::dedicated),
      recorder_(kFunctionCount, Recorder::kMaxTags, live) {
  const auto note_free = [](void* use, std::uint16_t device, std::uint64_t free_bytes,
                            std::uint64_t total_bytes) noexcept {
    static_cast<UnrecordedUse*>(use)->note_free(device, free_bytes, total_bytes);
  };
  backend_.on_free_memory({.function = note_free, .context = &unrecorded_use_});
  const auto join = [](void* allocator, Tag tag, const Groups& groups) {
    static_cast<CachingAllocator*>(allocator)->join(tag, groups);
  };
  if (options_.attribution) recorder_.call_for_tags({.function = join, .context = &allocator_});
  const auto& capacities = options_.device_memory_limit.bytes;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    if (capacities[i] != 0) allocator_.set_capacity(static_cast<std::uint16_t>(i), capacities[i]);
  }
}

// Calls that are under way go on as they began: what they promised counts in either case.
void Profiler::limit_capacity(std::uint16_t device, std::uint64_t bytes) {
  const UnrecordedUse::Figures now = unrecorded_use_.figures(device);
  allocator_.set_capacity(device, bytes, now.context_bytes + now.module_bytes);
  limits_capacity_.store(true, std::memory_order_relaxed);
}

void reset_peaks(Profiler& profiler, std::uint16_t device) noexcept {
  profiler.allocator().reset_peaks(device);
  profiler.recorder().warn(
      "peaks were reset while the program ran (reset_peak_memory_stats): they count from the last "
      "reset on; a trace has all");
}

void reset_accumulated(Profiler& profiler, std::uint16_t device) noexcept {
  profiler.allocator().reset_accumulated(device);
  profiler.recorder().warn(
      "counts were reset while the program ran (reset_accumulated_memory_stats): counters begin "
      "with the last reset; call sites have all");
}

void cut_to_capacity(CachingAllocator& allocator, std::uint16_t device, std::size_t* free,
                     std::size_t* total) noexcept {
  const DeviceCapacity capacity = allocator.capacity(device);
  if (capacity.limit == Limits::kUnlimited) return;
  const std::uint64_t unused = capacity.limit - std::min(capacity.limit, capacity.counted());
  if (free != nullptr) *free = std::min(*free, unused + allocator.recoverable_bytes(device));
  if (total != nullptr) *total = std::min<std::size_t>(*total, capacity.limit);
}

}  // namespace vramscope
