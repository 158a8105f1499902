// Reports collects and writes the reports of this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "interpose/driver/profiler.h"
#include "interpose/life/control.h"
#include "interpose/life/exec_reports.h"
#include "interpose/life/kept_refusals.h"
#include "interpose/life/kept_reports.h"
#include "interpose/life/live_file.h"
#include "interpose/life/oom_log.h"
#include "interpose/life/process_trace.h"
#include "interpose/life/report_quota.h"
#include "interpose/life/running_options.h"
#include "interpose/life/schedule.h"
#include "interpose/life/triggers.h"
#include "interpose/settings/options.h"

namespace vramscope {

struct ReportParts;

// There is one for each process, never destroyed. Threads: any, unless a line says otherwise.
class Reports {
 public:
  // All arguments outlive it.
  Reports(Profiler& profiler, LiveFile& live_file, const Options& options,
          std::int32_t driver_version) noexcept;

  // Returns the reports of the process that owns the record; null in any other process, including a
  // child of fork or vfork.
  [[nodiscard]] static Reports* of_this_process() noexcept;

  // Begins the trace and makes this process the owner of the record. Call it before the profiler is
  // active.
  void begin() noexcept;
  // Starts the helper thread and takes the signal. Call it after the profiler is active.
  void listen() noexcept;

  // Writes the last report when the process ends. A later caller (this thread in a signal handler,
  // or another thread) waits until the first has written it.
  void write_last(const char* trigger) noexcept;
  // Writes a report before exec. Until the exec fails, no other report begins.
  void write_before_exec() noexcept;
  void note_failed_exec() noexcept;

  // Notes that the main thread calls pthread_exit. Threads: that one.
  void note_end_of_main_thread() noexcept;

 private:
  void end_early() noexcept;
  void await_last() noexcept;
  void end_files(const char* trigger) noexcept;
  void note_written(std::string_view trigger, OwnReport report);
  void note_next_report();
  void complain(const char* trigger, const char* line) noexcept;
  void note_refusal(const Refusal& refusal) noexcept;
  void note_growth() noexcept;
  [[nodiscard]] DeviceUses uses() const noexcept;
  void write(const char* trigger, std::atomic<bool>& writing) noexcept;
  [[nodiscard]] std::variant<std::string, std::string> write_asked(std::atomic<bool>& writing);
  // Returns false if the figures were collected but no report must be written.
  [[nodiscard]] bool is_to_be_written(std::string_view trigger) noexcept;
  [[noreturn]] void end_process() noexcept;
  [[nodiscard]] TriggerCallbacks callbacks() noexcept;
  [[nodiscard]] SteeredReports control_reports() noexcept;
  // Leaves out what an abandoned lock protects, with a warning.
  [[nodiscard]] ReportParts collect(const char* trigger);
  void collect_memory(ReportParts& parts);
  void collect_names(ReportParts& parts);
  void collect_devices(ReportParts& parts);
  void collect_refusals(ReportParts& parts);
  // ends_with_files(): whether there is anything to write when the program ends, or a report may be
  // half written. wants_report(): whether this trigger gets a report.
  [[nodiscard]] bool ends_with_files() const noexcept {
    return running_.reports_at_exit() || trace_.exists() || writes_by_itself();
  }
  [[nodiscard]] bool writes_by_itself() const noexcept {
    return schedule_.wait_ns(0) != Schedule::kForever;
  }
  [[nodiscard]] const char* due() noexcept;
  [[nodiscard]] bool wants_report(const char* trigger) const noexcept;
  void begin_files() noexcept;
  [[nodiscard]] ProcessFacts process() const;

  Profiler& profiler_;
  LiveFile& live_file_;
  const Options& options_;
  const std::int32_t driver_version_;
  ProcessTrace trace_;
  Control control_;
  Triggers triggers_;
  ReportQuota quota_;  // of the helper thread, like the next three
  Schedule schedule_;
  RunningOptions running_;
  KeptReports kept_;
  KeptRefusals kept_refusals_;
  ExecReports exec_reports_;
  OomLog oom_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bool> ended_{false};
  std::atomic<pid_t> ending_{0};             // the thread that set it
  WaitableCounter last_written_;             // raised when the last report is complete
  WaitableCounter last_left_;                // raised when its thread continues
  std::atomic<bool> has_failed_{false};      // the last report could not be written
  std::atomic<bool> has_complained_{false};  // a report could not be written, and none was since
  std::string last_path_;                    // of the last report that was written; the helper's
  CUcontext last_context_ = nullptr;         // of the main thread when it called pthread_exit
};

}  // namespace vramscope
