// ProcessTrace begins, writes and ends the trace of this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "interpose/driver/profiler.h"
#include "reporter/record/trace/trace.h"
#include "reporter/report/facts.h"

namespace vramscope {

class TraceFile;

// Threads: the helper, or any if there is none.
class ProcessTrace {
 public:
  explicit ProcessTrace(Profiler& profiler) noexcept : profiler_(profiler) {}

  // Starts a trace if the options ask for one. Call it before the profiler is active. `bell` is
  // called when half a buffer is full. If the file cannot be made, prints one line, and the program
  // runs without a trace.
  void start(Trace::Bell bell) noexcept;
  [[nodiscard]] bool exists() const noexcept { return file_ != nullptr; }

  // Returns the path of the file, as `run` gets it, or "".
  [[nodiscard]] std::string path() const;

  // Writes recorded events to the file: full buffers, or all.
  enum class Which : bool { full_ones, all };
  void write(Which which) noexcept;
  // Writes all events and a mark for the report that `trigger` asks for. "exit" ends the trace.
  [[nodiscard]] TraceReport finish(const char* trigger) noexcept;

 private:
  void say_there_is_none(const TraceFile& file);
  void tell_of_segments() noexcept;
  void tell_of_unrecorded_use() noexcept;
  void write_names(Trace& trace);
  void note_problem() noexcept;

  Profiler& profiler_;
  TraceFile* file_ = nullptr;  // the file of the recorder's trace
  std::atomic_flag problem_said_ = ATOMIC_FLAG_INIT;
};

}  // namespace vramscope
