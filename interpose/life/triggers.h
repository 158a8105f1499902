// Triggers ask for a report: the signal, the end of the process, exec, time and memory. One helper
// thread writes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "interpose/ground/futex.h"
#include "interpose/settings/private_variables.h"

namespace vramscope {

// What the triggers cause. Threads: the helper, and without one any for write_report.
struct TriggerCallbacks {
  void* context = nullptr;
  // With `writing` set from when the numbers are taken until the file is complete.
  void (*write_report)(void* context, const char* trigger, std::atomic<bool>& writing) noexcept;
  // How long a report that a signal asks for has to wait: 0, or kForever: it has none.
  std::uint64_t (*held_back_ns)(void* context) noexcept;
  // What has been recorded goes to the trace: buffers that are full, or all.
  void (*write_trace)(void* context, bool all) noexcept;
  // What is due by itself, one trigger a call, null: nothing; and in how many nanoseconds something
  // may be, kForever: never.
  const char* (*due)(void* context) noexcept;
  std::uint64_t (*due_in_ns)(void* context) noexcept;
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  // Nobody but the helper is left: ends the process as the C library would have done.
  void (*end_process)(void* context) noexcept;
};

// How long a thread of the program waits for a report, and the line that says that it did not.
struct Patience {
  std::uint64_t limit_ns;
  const char* given_up;
};

// The helper thread has every signal blocked and no context: it never calls the driver.
class Triggers {
 public:
  explicit Triggers(const TriggerCallbacks& callbacks) : callbacks_(callbacks) {}

  // Starts the helper thread, then takes `signal` (0: none). Call once.
  void start(int signal) noexcept;

  // A report by the helper thread, now; returns when it is written. Gives up, with one line, when
  // the helper has not got on for one second while it takes the numbers (a lock is held by a thread
  // that will not go on) or it takes longer than `patience` in all. Another thread's wait of a
  // second is waited for.
  // Threads: any.
  void report_and_wait(const char* trigger, Patience patience) noexcept;

  // A report's numbers are taken, and its file is not complete. Threads: any.
  [[nodiscard]] bool is_writing() const noexcept {
    return writing_.load(std::memory_order_acquire);
  }
  // Reports are written by the helper: not by the thread that asks for one.
  [[nodiscard]] bool writes_elsewhere() const noexcept { return has_thread_; }

  // Before start(): all that was recorded goes to the trace every half second, so that whatever
  // ends the process costs no more than that.
  void keep_trace_fresh() noexcept { keeps_trace_fresh_ = true; }

  // The helper thread looks for full halves of the trace. Threads: any.
  void ring() noexcept { requests_.raise(); }

  // The main thread ended by pthread_exit. The C library ends a process with its last thread, but
  // counts the helper: from now on the helper looks whether it is alone, and then ends the process.
  // Async-signal-safe.
  void main_thread_ended() noexcept;

 private:
  static void* run(void* self) noexcept;
  [[noreturn]] void serve() noexcept;
  // Until the counter is beyond `seen`, or something else is due.
  void wait_beyond(std::uint32_t seen) noexcept;
  void serve_requests() noexcept;
  void answer_signals() noexcept;
  void tell_state() noexcept;
  // A report's file is being written, or the helper has used the processor, for more than looking
  // at a lock, since it had used `used` ns, which becomes what it has used by now. Threads: any.
  [[nodiscard]] bool gets_on(std::uint64_t& used) const noexcept;

  const TriggerCallbacks callbacks_;
  bool has_thread_ = false;
  pthread_t thread_{};  // the helper, which never ends
  bool keeps_trace_fresh_ = false;
  std::uint64_t trace_written_ns_ = 0;  // all of it; the helper's own
  WaitableCounter requests_;            // raised by the signal and by report_and_wait
  std::atomic<bool> writing_{false};  // the numbers of a report are taken, the file is not complete
  WaitableCounter written_;           // raised when a report that was waited for is on disk
  std::uint32_t served_signals_ = 0;  // the helper's own
  std::uint64_t held_until_ns_ = 0;   // a report for a signal waits; 0: none; the helper's own
  HelperState told_;                  // by its name; the helper's own
  std::atomic<bool> main_ended_{false};
  std::atomic<pid_t> helper_{0};
  std::atomic<pid_t> writer_{0};  // who writes without the helper: a handler of his may end it all
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<const char*> waiting_for_{nullptr};
  std::mutex one_waiter_;
};

}  // namespace vramscope
