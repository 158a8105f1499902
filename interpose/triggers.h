// Who asks for a report: the signal, the end of the process, exec. One helper thread writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "interpose/futex.h"

namespace vramscope {

class Profiler;

// The helper thread has every signal blocked and no context: it never calls the driver.
class Triggers {
 public:
  explicit Triggers(Profiler& profiler) : profiler_(profiler) {}

  // Starts the helper thread, then takes `signal` (0: none). Call once.
  void start(int signal) noexcept;

  // A report by the helper thread, now; returns when it is written, or when nothing could be
  // collected for one second (a lock is held by a thread that will not go on).
  // Threads: any but the helper.
  void report_and_wait(const char* trigger) noexcept;

 private:
  static void* run(void* self) noexcept;
  [[noreturn]] void serve() noexcept;

  Profiler& profiler_;
  bool has_thread_ = false;
  Counter requests_;   // raised by the signal and by report_and_wait
  Counter collected_;  // raised when the numbers of a report are taken
  Counter written_;    // raised when it is on disk
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<const char*> waiting_for_{nullptr};
  std::timed_mutex one_waiter_;
};

}  // namespace vramscope
