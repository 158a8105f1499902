// Steering carries out what a request of the control socket wants.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <variant>

#include "interpose/driver/profiler.h"
#include "interpose/life/control_client.h"
#include "reporter/report/live/control_protocol.h"

namespace vramscope {

class ProcessTrace;
class RunningOptions;

// Writes a report for a request. Returns its path, or, as the second, why there is none. ring():
// makes the helper look at its schedule. trace, options: of this process.
struct SteeredReports {
  std::variant<std::string, std::string> (*write)(void* context,
                                                  std::atomic<bool>& writing) = nullptr;
  // Ends all reports of the process, and leaves no file but those that were written.
  void (*end)(void* context) noexcept = nullptr;
  void (*ring)(void* context) = nullptr;
  void* context = nullptr;
  ProcessTrace* trace = nullptr;
  RunningOptions* options = nullptr;
};

// It makes no CUDA call: what needs the device is posted for a thread of the program. Threads: the
// helper.
class Steering {
 public:
  Steering(Profiler& profiler, SteeredReports reports) noexcept
      : profiler_(profiler), reports_(reports) {}

  // Returns the answer, never null. writing: as for write_report. May throw bad_alloc.
  [[nodiscard]] std::unique_ptr<ControlAnswer> begin(const ControlRequest& request,
                                                     std::atomic<bool>& writing);

 private:
  using Answer = std::unique_ptr<ControlAnswer>;
  using Act = Answer (Steering::*)(const ControlRequest& request);
  struct Row {
    const char* command;
    Act act;
  };
  static const Row kRows[];

  [[nodiscard]] Answer report(const ControlRequest& request);
  [[nodiscard]] Answer mark(const ControlRequest& request);
  [[nodiscard]] Answer reset_peaks(const ControlRequest& request);
  [[nodiscard]] Answer reset_accumulated(const ControlRequest& request);
  [[nodiscard]] Answer reset_host(const ControlRequest& request);
  [[nodiscard]] Answer empty_cache(const ControlRequest& request);
  [[nodiscard]] Answer memory_info(const ControlRequest& request);
  [[nodiscard]] Answer snapshot(const ControlRequest& request);
  [[nodiscard]] Answer pause(const ControlRequest& request);
  [[nodiscard]] Answer resume(const ControlRequest& request);
  [[nodiscard]] Answer detach(const ControlRequest& request);
  [[nodiscard]] Answer set_limit(const ControlRequest& request);
  [[nodiscard]] Answer trace(const ControlRequest& request);
  [[nodiscard]] Answer set_option(const ControlRequest& request);

  [[nodiscard]] bool has_used(std::uint16_t device) const;
  // is_old: newer figures wait for the program.
  [[nodiscard]] std::string info_line(std::uint16_t device, bool is_old);

  Profiler& profiler_;
  const SteeredReports reports_;
  std::atomic<bool>* writing_ = nullptr;  // within begin()
  std::atomic<bool> has_snapshot_{false};
  std::atomic<bool> is_trimmed_{false};  // what empty_cache asked for last was done
};

}  // namespace vramscope
