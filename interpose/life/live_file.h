// LiveFile makes, publishes and removes the live file of this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "allocator/base/live_memory.h"
#include "interpose/driver/profiler.h"
#include "reporter/report/facts.h"

namespace vramscope {

// There is one for each process, never destroyed. Without a file its functions do nothing. Threads:
// one at a time; remove(): any. Do not use it in a forked child.
class LiveFile {
 public:
  LiveFile() = default;
  ~LiveFile() { remove(); }  // only if its users could not be made
  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;

  // Makes the file that the options ask for. Prints one line only if the user asked for a path that
  // cannot be used.
  void begin() noexcept;

  // Returns the memory that outlives the process.
  [[nodiscard]] LiveMemory& memory() noexcept { return memory_; }
  // Returns the path of the file, or "".
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Makes the file readable. Call it before the profiler is active, and after all others have made
  // their objects in its memory. Adds warnings to the report about what a recovery cannot promise.
  void publish(Profiler& profiler, ProcessFacts process, const std::string& trace_path) noexcept;

  // Notes the name of the next report after one was written.
  void note_next_report(Profiler& profiler, std::uint64_t sequence) noexcept;

  // Returns why later data is not in the file; "" if all is. May throw bad_alloc.
  [[nodiscard]] std::string problem() const;

  // Removes the file when nobody needs it any more: the program ends or calls exec, and its report
  // was written.
  void remove() noexcept;
  // The same, with the absolute path of the last report.
  void remove_after(Profiler& profiler, const std::string& report) noexcept;
  // Notes that the program continues after a failed exec. A removed file does not come back.
  void note_failed_exec() noexcept;

 private:
  // `name`: the name in the open folder; `path`: the whole path.
  [[nodiscard]] int begin_at(int folder, const char* name, const std::string& path) noexcept;
  [[nodiscard]] int begin_once(int folder, const char* name, const std::string& path) noexcept;
  [[nodiscard]] int begin_in(const std::string& folder, const std::string& name);
  void begin_in_memory();
  void begin_at_pattern();
  void warn(Profiler& profiler) const;

  LiveMemory memory_;
  std::string path_;
  std::string why_not_;  // the reason if there is no file
  bool is_locked_ = false;
  std::atomic<bool> is_removed_{false};
};

}  // namespace vramscope
