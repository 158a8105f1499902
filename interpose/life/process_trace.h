// The trace of this process: when it begins, what the helper thread writes to it, how it ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "interpose/driver/profiler.h"
#include "reporter/record/trace/trace.h"
#include "reporter/report/facts.h"

namespace vramscope {

class TraceFile;

// Threads: the helper, or any when there is none.
class ProcessTrace {
 public:
  explicit ProcessTrace(Profiler& profiler) noexcept : profiler_(profiler) {}

  // If the options ask for one, before the profiler is active. `bell` is rung when a half is full.
  // A file that cannot be made is one line; the program runs without a trace.
  void start(Trace::Bell bell) noexcept;
  [[nodiscard]] bool exists() const noexcept { return file_ != nullptr; }

  // Its file, as `run` is told; "": there is none.
  [[nodiscard]] std::string path() const;

  // What has been recorded goes to the file: buffers that are full, or all.
  enum class Which : bool { full_ones, all };
  void write(Which which) noexcept;
  // The same with a mark, for the report that `trigger` asks for; "exit" ends the trace.
  [[nodiscard]] TraceReport finish(const char* trigger) noexcept;

 private:
  void say_there_is_none(const TraceFile& file);
  void tell_of_segments() noexcept;
  void write_names(Trace& trace);
  void note_problem() noexcept;

  Profiler& profiler_;
  TraceFile* file_ = nullptr;  // of the recorder's trace
  std::atomic_flag problem_said_ = ATOMIC_FLAG_INIT;
};

}  // namespace vramscope
