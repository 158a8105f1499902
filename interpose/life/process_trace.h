// ProcessTrace begins, writes and ends the trace of this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "interpose/driver/profiler.h"
#include "reporter/record/trace/trace.h"
#include "reporter/report/facts.h"

namespace vramscope {

class TraceFile;

// Threads: the helper, or any if there is none; exists() and path() any.
class ProcessTrace {
 public:
  explicit ProcessTrace(Profiler& profiler) noexcept : profiler_(profiler) {}

  // Starts a trace if the options ask for one. Call it before the profiler is active. `bell` is
  // called when half a buffer is full. If the file cannot be made, prints one line, and the program
  // runs without a trace.
  void prepare(Trace::Bell bell) noexcept;
  [[nodiscard]] bool exists() const noexcept {
    return file_.load(std::memory_order_acquire) != nullptr;
  }

  // Starts a trace amid the run: it begins with what is live. pattern: of its name, as of the
  // option `trace`. Returns why there is none, or "". May throw bad_alloc. stop() completes it.
  [[nodiscard]] std::string begin_amid(const std::string& pattern);
  void stop() noexcept;

  // Returns the path of the file, as `run` gets it, or "".
  [[nodiscard]] std::string path() const;

  // Writes recorded events to the file: full buffers, or all.
  enum class Which : bool { full_ones, all };
  void write(Which which) noexcept;
  // Writes all events and a mark for the report that `trigger` asks for. "exit" ends the trace.
  [[nodiscard]] TraceReport finish(const char* trigger) noexcept;

 private:
  // Limits what traces take that have ended: a file's descriptor, and buffers of each thread.
  static constexpr std::size_t kMostTraces = 16;

  void start() noexcept;
  [[nodiscard]] std::string begin(const std::string& path, bool is_amid);
  void tell_what_is_live(Trace& trace);
  void tell_of_segments() noexcept;
  void tell_of_unrecorded_use() noexcept;
  void tell_of_graphs() noexcept;
  void write_names(Trace& trace);
  void note_problem() noexcept;

  Profiler& profiler_;
  Trace::Bell bell_;
  std::atomic<TraceFile*> file_{nullptr};      // the file of the recorder's trace
  std::vector<std::unique_ptr<Trace>> ended_;  // threads may still use their lanes
  std::atomic_flag problem_said_ = ATOMIC_FLAG_INIT;
};

}  // namespace vramscope
