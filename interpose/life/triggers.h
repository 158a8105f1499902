// Triggers are the reasons for a report: the signal, the end of the process, exec, time and memory.
// One helper thread writes the reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "interpose/base/doorbell.h"
#include "interpose/base/futex.h"
#include "interpose/settings/private_variables.h"

namespace vramscope {

// Functions that the triggers call. Threads: the helper; without a helper, any for write_report.
struct TriggerCallbacks {
  void* context = nullptr;
  // `writing` is true from when the figures are collected until the file is complete.
  void (*write_report)(void* context, const char* trigger, std::atomic<bool>& writing) noexcept;
  // Returns how long a report for a signal must wait, in nanoseconds: 0, or kForever for no report.
  std::uint64_t (*held_back_ns)(void* context) noexcept;
  // Writes recorded events to the trace: full buffers, or all. has_trace(): whether there is one.
  void (*write_trace)(void* context, bool all) noexcept;
  bool (*has_trace)(void* context) noexcept;
  // due() returns one due automatic trigger, or null. due_in_ns() returns in how many nanoseconds
  // one may be due, or kForever.
  const char* (*due)(void* context) noexcept;
  std::uint64_t (*due_in_ns)(void* context) noexcept;
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  // look() looks whether another process wants to talk. While is_open() holds, converse() is called
  // instead of a wait, for about `limit_ns` at a time.
  void (*look)(void* context) noexcept;
  bool (*is_open)(void* context) noexcept;
  void (*converse)(void* context, std::uint64_t limit_ns, std::atomic<bool>& writing) noexcept;
  // Ends the process as the C library would, when only the helper is left.
  void (*end_process)(void* context) noexcept;
};

// How long a thread of the program waits for a report, and the message if that time is over.
struct Patience {
  std::uint64_t limit_ns;
  const char* given_up;
};

// The helper thread blocks every signal and has no context. It never calls the driver.
class Triggers {
 public:
  explicit Triggers(const TriggerCallbacks& callbacks) : callbacks_(callbacks) {}

  // Counts requests in that word, which other processes can raise. Call it before start().
  void count_in(std::atomic<std::uint32_t>& word) noexcept { requests_.move_to(word); }

  // Starts the helper thread, then takes `signal` (0: none). Call once.
  void start(int signal) noexcept;

  // Makes the helper thread write a report now, and returns when it is written. Gives up with one
  // message if the helper makes no progress for one second while it collects the figures (because
  // of an abandoned lock), or if the report takes longer than `patience`. If another thread is
  // waiting already, waits for that first.
  // Threads: any.
  void report_and_wait(const char* trigger, Patience patience) noexcept;

  // Whether a report's figures are collected and its file is incomplete. Threads: any.
  [[nodiscard]] bool is_writing() const noexcept {
    return writing_.load(std::memory_order_acquire);
  }
  // Whether the helper writes the reports, instead of the thread that asks for one.
  [[nodiscard]] bool writes_elsewhere() const noexcept { return has_thread_; }

  // Makes the helper look for full halves of trace buffers. Threads: any.
  void ring() noexcept { requests_.raise(); }

  // Notes that the main thread called pthread_exit. The C library ends a process with its last
  // thread, but counts the helper. So from now on the helper checks whether it is alone, and then
  // ends the process. Async-signal-safe.
  void main_thread_ended() noexcept;

 private:
  static void* run(void* self) noexcept;
  [[noreturn]] void serve() noexcept;
  // Waits until the counter exceeds `seen`, or something else is due.
  void wait_beyond(std::uint32_t seen) noexcept;
  [[nodiscard]] std::uint64_t wait_limit_ns() noexcept;
  void converse_beyond(std::uint32_t seen, std::uint64_t limit_ns) noexcept;
  void serve_requests() noexcept;
  void answer_signals() noexcept;
  void tell_state() noexcept;
  // Whether the helper makes progress: a report's file is being written, or the helper has used
  // more processor time than `used` ns, except for watching a lock. Updates `used`. Threads: any.
  [[nodiscard]] bool gets_on(std::uint64_t& used) const noexcept;

  const TriggerCallbacks callbacks_;
  bool has_thread_ = false;
  pthread_t thread_{};  // the helper, which never ends
  // When all of the trace was written; used by the helper. Every half second, so that a killed
  // process loses no more than that.
  std::uint64_t trace_written_ns_ = 0;
  Doorbell requests_;                 // raised by the signal and by report_and_wait
  std::atomic<bool> writing_{false};  // figures are collected, the file is incomplete
  WaitableCounter written_;           // raised when a report for a waiting thread is on disk
  std::uint32_t served_signals_ = 0;  // the helper's own
  std::uint64_t held_until_ns_ =
      0;              // when a report for a signal may be written; 0: none; used by the helper
  HelperState told_;  // what the thread's name says; used by the helper
  std::atomic<bool> main_ended_{false};
  std::atomic<pid_t> helper_{0};
  std::atomic<pid_t> writer_{
      0};  // the thread that writes without the helper; its signal handler may end the process
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<const char*> waiting_for_{nullptr};
  std::mutex one_waiter_;
};

}  // namespace vramscope
