// The helper thread and what wakes it.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/triggers.h"

#include <pthread.h>

#include <chrono>
#include <csignal>

#include "interpose/message.h"
#include "interpose/profiler.h"
#include "interpose/signals.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kLockLimitNs = 1'000'000'000;    // contract section 4, "Life"
constexpr std::uint64_t kWriteLimitNs = 60'000'000'000;  // a file system that hangs
constexpr std::size_t kStackBytes = std::size_t{1} << 20;

constinit std::atomic<std::uint32_t>* signal_count = nullptr;
constinit Counter* signal_requests = nullptr;

void on_report_signal() {
  signal_count->fetch_add(1, std::memory_order_release);
  signal_requests->raise();
}

}  // namespace

void Triggers::start(int signal) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  has_thread_ = pthread_create(&thread, &attributes, run, this) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!has_thread_) {
    say_once(Once::no_helper_thread,
             "cannot start the report thread; a report is written at exit only");
    return;
  }
  if (signal == 0) return;
  signal_count = &signals_;
  signal_requests = &requests_;
  take_signal(signal, on_report_signal);
}

void Triggers::report_and_wait(const char* trigger) noexcept {
  if (!has_thread_) {
    profiler_.write_report(trigger, collected_);
    return;
  }
  const std::unique_lock only(one_waiter_, std::chrono::nanoseconds(kLockLimitNs));
  if (!only.owns_lock()) return;
  const std::uint32_t collected = collected_.value();
  waiting_for_.store(trigger, std::memory_order_release);
  const std::uint32_t written = written_.value();
  requests_.raise();
  if (!collected_.wait_beyond(collected, kLockLimitNs)) return;
  written_.wait_beyond(written, kWriteLimitNs);
}

void* Triggers::run(void* self) noexcept {
  pthread_setname_np(pthread_self(), "vramscope");
  static_cast<Triggers*>(self)->serve();
}

void Triggers::serve() noexcept {
  std::uint32_t served_signals = 0;
  for (std::uint32_t seen = 0;; requests_.wait_beyond(seen)) {
    seen = requests_.value();
    const std::uint32_t signals = signals_.load(std::memory_order_acquire);
    if (signals != served_signals) {  // a storm gives one report for all that came before it began
      served_signals = signals;
      profiler_.write_report("signal", collected_);
    }
    if (const char* trigger = waiting_for_.exchange(nullptr, std::memory_order_acq_rel)) {
      profiler_.write_report(trigger, collected_);
      written_.raise();
    }
  }
}

}  // namespace vramscope
