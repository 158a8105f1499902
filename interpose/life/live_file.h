// The live file of this process: where it lies, what of the process it says, and its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "allocator/ground/live_memory.h"
#include "interpose/driver/profiler.h"
#include "reporter/report/facts.h"

namespace vramscope {

// One a process, never destroyed. Where there is none, nothing that is asked of it does anything.
// Threads: one at a time,
// remove() any. None in a forked child.
class LiveFile {
 public:
  LiveFile() = default;
  ~LiveFile() { remove(); }  // only where what needs it cannot be made
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  // Makes the file that the options ask for. Nothing is said of it, but one line when the user
  // asked for a path that cannot be had.
  void begin() noexcept;

  // What outlives the process, for those who keep something in it.
  [[nodiscard]] LiveMemory& memory() noexcept { return memory_; }
  // "": there is none.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Before the profiler is active, and when all others have begun in its memory: from now on it can
  // be read. Warnings of the report say what is not promised.
  void publish(Profiler& profiler, ProcessFacts process, const std::string& trace_path) noexcept;

  // A report was written: the next one will have another name.
  void note_next_report(Profiler& profiler, std::uint64_t sequence) noexcept;

  // Why something that came late is not in the file; "": nothing. May throw bad_alloc.
  [[nodiscard]] std::string problem() const;

  // Nobody needs it any more: the program ends, or executes another, and its report was written.
  void remove() noexcept;
  // The same; that report, by its absolute path, was the last one.
  void remove_after(Profiler& profiler, const std::string& report) noexcept;
  // The program goes on. A file that is gone does not come back.
  void note_failed_exec() noexcept;

 private:
  // `name`: in the open folder, where `path` leads.
  [[nodiscard]] int begin_at(int folder, const char* name, const std::string& path) noexcept;
  [[nodiscard]] int begin_once(int folder, const char* name, const std::string& path) noexcept;
  [[nodiscard]] int begin_in(const std::string& folder, const std::string& name);
  void begin_in_memory();
  void begin_at_pattern();
  void warn(Profiler& profiler) const;

  LiveMemory memory_;
  std::string path_;
  std::string why_not_;  // there is no file
  bool is_locked_ = false;
  std::atomic<bool> is_removed_{false};
};

}  // namespace vramscope
