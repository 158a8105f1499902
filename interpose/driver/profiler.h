// The profiler holds what intercepted calls need: the options, the allocator, the recorder, and the
// state of the driver as the program changed it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/fork_mark.h"
#include "allocator/base/size_policy.h"
#include "allocator/caching_allocator.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/contexts.h"
#include "interpose/driver/cuda_backend.h"
#include "interpose/driver/exported_memory.h"
#include "interpose/driver/exporters.h"
#include "interpose/driver/graph_memory.h"
#include "interpose/driver/graphs.h"
#include "interpose/driver/import_counts.h"
#include "interpose/driver/pool_devices.h"
#include "interpose/driver/releases.h"
#include "interpose/driver/unrecorded_use.h"
#include "interpose/driver/used_devices.h"
#include "interpose/driver/virtual_memory.h"
#include "interpose/settings/options.h"
#include "reporter/record/recorder.h"
#include "reporter/report/live/live_process.h"

namespace vramscope {

// `function` receives each allocation that fails because memory ran out, before the program gets
// the error. `served` receives successful allocations of at least wanted_bytes(). The calling
// thread is inside a call of ours and holds no lock.
struct RefusalCallback {
  void (*function)(void* context, const Refusal& refusal) noexcept = nullptr;
  void (*served)(void* context, const Event& event) noexcept = nullptr;
  void* context = nullptr;
};

// Called when the driver has given device memory. The calling thread is inside a call of ours and
// holds no lock.
struct GrowthCallback {
  void (*function)(void* context) noexcept = nullptr;
  void* context = nullptr;
};

// There is one for each process. It is never destroyed, because the program may call CUDA from its
// last exit handler.
// Threads: any.
class Profiler {
 public:
  // `live`: memory for what outlives the process. May throw bad_alloc.
  Profiler(const Options& options, const Limits& limits, LiveMemory* live);
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Returns null before the program's first cuInit, when switched off, and in a forked child.
  [[nodiscard]] static Profiler* active() noexcept {
    return static_cast<Profiler*>(current_.get());
  }
  // Makes calls reach this profiler. Call it once.
  void activate() noexcept { current_.set(this); }
  // In a forked child: makes calls reach no profiler.
  static void deactivate() noexcept { current_.clear(); }

  [[nodiscard]] bool routes_device_memory() const noexcept {
    return options_.mode == Mode::cache || options_.mode == Mode::dedicated;
  }
  // Whether a block of `bytes` may be a part of a segment, unless it is dedicated.
  [[nodiscard]] bool may_be_part(std::size_t bytes) const noexcept {
    return options_.policy == Policy::pytorch || options_.mode == Mode::dedicated ||
           bytes <= kSmallRequest;
  }
  // Returns the option with which a block of `bytes` that is such a part could be exported.
  [[nodiscard]] const char* way_to_export(std::size_t bytes) const noexcept {
    const bool is_cut = options_.policy == Policy::pytorch && options_.mode == Mode::cache;
    return is_cut && bytes > kSmallRequest ? "--policy native-safe" : "--mode dedicated";
  }
  [[nodiscard]] bool routes_pinned_memory() const noexcept { return options_.mode == Mode::cache; }
  [[nodiscard]] bool attributes() const noexcept { return options_.attribution; }
  // Returns the mean distance in bytes of the samples that get a stack; 0: all calls get one.
  [[nodiscard]] std::uint64_t sample_bytes() const noexcept { return options_.sample_bytes.value; }
  // The same for now, set by the code that pauses stacks; kNoStacks: no call gets one.
  static constexpr std::uint64_t kNoStacks = ~std::uint64_t{0};
  [[nodiscard]] std::atomic<std::uint64_t>& stack_distance() noexcept { return stack_distance_; }
  [[nodiscard]] bool waits_at_reuse() const noexcept {
    return options_.reuse == ReuseTime::at_reuse;
  }
  [[nodiscard]] bool limits_capacity() const noexcept {
    return limits_capacity_.load(std::memory_order_relaxed);
  }
  // Makes a device seem to end there from now on; Limits::kUnlimited: where it does. May throw
  // bad_alloc. Not where lost locks are given up.
  void limit_capacity(std::uint16_t device, std::uint64_t bytes);
  // Time 0 of reports and traces, by now_ns(): when the program's first cuInit succeeded.
  [[nodiscard]] std::uint64_t started_ns() const noexcept { return started_ns_; }
  // Whether the recorder has a trace, or had one.
  [[nodiscard]] bool traces() const noexcept { return traces_.load(std::memory_order_relaxed); }
  void set_traces() noexcept { traces_.store(true, std::memory_order_relaxed); }
  // Before the profiler is active.
  void on_refusal(RefusalCallback callback) noexcept { refusal_callback_ = callback; }
  void tell_refused(const Refusal& refusal) const noexcept {
    if (refusal_callback_.function == nullptr) return;
    refusal_callback_.function(refusal_callback_.context, refusal);
  }
  // The size from which tell_served() is called, set by the code that waits for an allocation as
  // large as a refused one; all ones: never.
  [[nodiscard]] std::atomic<std::uint64_t>& wanted_bytes() noexcept { return wanted_bytes_; }
  void tell_served(const Event& event) const noexcept {
    if (refusal_callback_.served == nullptr) return;
    refusal_callback_.served(refusal_callback_.context, event);
  }

  // Before the profiler is active.
  void on_growth(GrowthCallback callback) noexcept { growth_callback_ = callback; }
  void tell_grown() const noexcept {
    if (growth_callback_.function != nullptr) growth_callback_.function(growth_callback_.context);
  }

  [[nodiscard]] CachingAllocator& allocator() noexcept { return allocator_; }
  [[nodiscard]] LiveProcess& live_process() noexcept { return live_process_; }
  [[nodiscard]] Recorder& recorder() noexcept { return recorder_; }
  [[nodiscard]] Contexts& contexts() noexcept { return contexts_; }
  [[nodiscard]] Captures& captures() noexcept { return captures_; }
  [[nodiscard]] CudaBackend& backend() noexcept { return backend_; }
  [[nodiscard]] UnrecordedUse& unrecorded_use() noexcept { return unrecorded_use_; }
  [[nodiscard]] UsedDevices& used_devices() noexcept { return used_devices_; }
  [[nodiscard]] VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }
  [[nodiscard]] PoolDevices& pool_devices() noexcept { return pool_devices_; }
  [[nodiscard]] ImportCounts& import_counts() noexcept { return import_counts_; }
  [[nodiscard]] ExportedMemory& exported_memory() noexcept { return exported_memory_; }
  [[nodiscard]] Exporters& exporters() noexcept { return exporters_; }
  [[nodiscard]] Releases& releases() noexcept { return releases_; }
  [[nodiscard]] Graphs& graphs() noexcept { return graphs_; }
  [[nodiscard]] GraphMemory& graph_memory() noexcept { return graph_memory_; }

 private:
  static constinit ForkMark current_;

  const Options options_;
  std::atomic<bool> limits_capacity_;
  std::atomic<std::uint64_t> stack_distance_;
  const std::uint64_t started_ns_;
  std::atomic<bool> traces_{false};
  std::atomic<std::uint64_t> wanted_bytes_{~std::uint64_t{0}};
  RefusalCallback refusal_callback_;
  GrowthCallback growth_callback_;
  LiveProcess live_process_;
  Contexts contexts_;
  Captures captures_;
  VirtualMemory virtual_memory_;
  PoolDevices pool_devices_;
  ImportCounts import_counts_;
  CudaBackend backend_;
  CachingAllocator allocator_;
  UnrecordedUse unrecorded_use_{allocator_, backend_, pool_devices_, captures_, live_process_};
  ExportedMemory exported_memory_;
  Exporters exporters_;
  Graphs graphs_{allocator_};
  GraphMemory graph_memory_{allocator_, releases_};
  Recorder recorder_;
  UsedDevices used_devices_{allocator_, backend_, unrecorded_use_, recorder_, live_process_};
  Releases releases_;
};

// Sets the peaks, or the counts, of a device back for the program or for a client, and has reports
// warn of it.
void reset_peaks(Profiler& profiler, std::uint16_t device) noexcept;
void reset_accumulated(Profiler& profiler, std::uint16_t device) noexcept;

// Cuts the answer of cuMemGetInfo to the device's capacity. Either pointer may be null. `free`
// includes what we would give back at once.
void cut_to_capacity(CachingAllocator& allocator, std::uint16_t device, std::size_t* free,
                     std::size_t* total) noexcept;

}  // namespace vramscope
