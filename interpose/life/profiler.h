// Composition root: options, allocator, recorder and triggers of this process; start, fork, exit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ground/capability.h"
#include "interpose/driver/captures.h"
#include "interpose/driver/contexts.h"
#include "interpose/driver/cuda_backend.h"
#include "interpose/driver/exporters.h"
#include "interpose/driver/graph_memory.h"
#include "interpose/driver/graphs.h"
#include "interpose/driver/open_counts.h"
#include "interpose/driver/pool_devices.h"
#include "interpose/driver/unrecorded_use.h"
#include "interpose/driver/virtual_memory.h"
#include "interpose/ground/fork_mark.h"
#include "interpose/life/triggers.h"
#include "interpose/settings/options.h"
#include "reporter/record/recorder.h"
#include "reporter/report/report.h"

namespace vramscope {

class Trace;
class TraceFile;

// Lives from the first successful cuInit until the process is gone; never destroyed.
// Threads: any.
class Profiler {
 public:
  // Null before start(), when switched off, and in a forked child (which owns nothing).
  [[nodiscard]] static Profiler* active() noexcept {
    return static_cast<Profiler*>(current_.get());
  }
  // The program's first cuInit succeeded.
  static void start() noexcept;
  // The process ends now. Does nothing but in the process that owns the record.
  static void final_report(const char* trigger) noexcept;
  static void report_before_exec() noexcept;

  [[nodiscard]] bool routes_device_memory() const noexcept {
    return options_.mode == Mode::cache || options_.mode == Mode::dedicated;
  }
  [[nodiscard]] bool traces() const noexcept { return trace_file_ != nullptr; }
  [[nodiscard]] bool attributes() const noexcept { return options_.attribution; }
  // Mean distance of the samples that get a stack; 0: all calls do.
  [[nodiscard]] std::uint64_t sample_bytes() const noexcept { return options_.sample_bytes.value; }
  [[nodiscard]] bool waits_at_reuse() const noexcept { return options_.reuse == Reuse::at_reuse; }
  [[nodiscard]] bool limits_devices() const noexcept { return limits_devices_; }
  [[nodiscard]] bool routes_pinned_memory() const noexcept { return options_.mode == Mode::cache; }
  [[nodiscard]] CachingAllocator& allocator() noexcept { return allocator_; }
  [[nodiscard]] CudaBackend& backend() noexcept { return backend_; }
  [[nodiscard]] DeviceUse& device_use() noexcept { return use_; }
  [[nodiscard]] Captures& captures() noexcept { return captures_; }
  [[nodiscard]] Contexts& contexts() noexcept { return contexts_; }
  [[nodiscard]] VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }
  [[nodiscard]] GraphMemory& graph_memory() noexcept { return graph_memory_; }
  [[nodiscard]] MemoryPools& memory_pools() noexcept { return memory_pools_; }
  [[nodiscard]] OpenCounts& opened() noexcept { return opened_; }
  [[nodiscard]] Exporters& exporters() noexcept { return exporters_; }
  [[nodiscard]] Graphs& graphs() noexcept { return graphs_; }
  [[nodiscard]] Recorder& recorder() noexcept { return recorder_; }

  // The first memory on `device`: asks the driver what it is called, on the program's own thread.
  void note_device(std::uint16_t device) noexcept;

  // Collects, then writes with `writing` set. A failure is one line on stderr; the next trigger
  // tries again. Threads: the helper, or any when there is none.
  void write_report(const char* trigger, std::atomic<bool>& writing) noexcept;

  // What has been recorded goes to the trace, if there is one, buffer by buffer. Threads: the
  // helper.
  void write_trace() noexcept;

  // The process's main thread leaves by pthread_exit. Threads: that one.
  static void main_thread_ended() noexcept;
  // Nobody but the helper is left: ends the process as the C library would have done.
  // Threads: the helper.
  [[noreturn]] void end_process() noexcept;

 private:
  static constinit ForkMark current_;

  explicit Profiler(const Options& options);
  void warn_of_missing_functions() noexcept;
  void limit_devices() noexcept;
  // Is there anything to write when the program ends? And with this trigger a report?
  [[nodiscard]] bool ends_with_files() const noexcept {
    return options_.report_at_exit || trace_file_ != nullptr;
  }
  [[nodiscard]] bool wants_report(const char* trigger) const noexcept;
  void start_trace() noexcept;
  [[nodiscard]] TraceReport finish_trace(const char* trigger) noexcept;
  void write_names(Trace& trace);
  void note_trace_problem() noexcept;

  [[nodiscard]] ReportParts collect(const char* trigger);
  [[nodiscard]] std::vector<DeviceFacts> devices();
  void warn_of_other_dlsym() noexcept;
  static void after_fork_in_child() noexcept;

  const Options options_;
  const bool limits_devices_;
  Contexts contexts_;
  Captures captures_;
  VirtualMemory virtual_memory_;
  MemoryPools memory_pools_;
  OpenCounts opened_;
  CudaBackend backend_;
  CachingAllocator allocator_;
  DeviceUse use_{allocator_, backend_};
  Exporters exporters_;
  Graphs graphs_{allocator_};
  GraphMemory graph_memory_{allocator_};
  Recorder recorder_;
  TraceFile* trace_file_ = nullptr;  // of the recorder's trace
  std::atomic_flag trace_problem_said_ = ATOMIC_FLAG_INIT;
  Triggers triggers_;
  SystemMutex devices_mutex_;
  std::vector<DeviceFacts> devices_ VRAMSCOPE_GUARDED_BY(devices_mutex_);
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bool> ended_{false};
  std::int32_t driver_version_ = 0;
  CUcontext last_context_ = nullptr;  // of the main thread when it left by pthread_exit
};

}  // namespace vramscope
