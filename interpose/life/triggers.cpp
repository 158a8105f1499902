// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/triggers.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <utility>

#include "allocator/base/abandoned_locks.h"
#include "allocator/base/nap.h"
#include "allocator/base/own_stack.h"
#include "allocator/base/uncancelled.h"
#include "interpose/base/message.h"
#include "interpose/life/signals.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kLockLimitNs = 1'000'000'000;  // contract section 4, "Life"
constexpr std::uint64_t kLookNs = 50'000'000;          // how often a wait is checked for progress
constexpr int kMostIdleLooks = kLockLimitNs / kLookNs;
constexpr std::uint64_t kTraceNs = 500'000'000;    // between two writes of the whole trace
constexpr std::uint64_t kConverseNs = 10'000'000;  // how late a request is seen amid a conversation
constexpr std::size_t kStackBytes = std::size_t{1} << 20;

constinit std::atomic<std::uint32_t>* signal_count = nullptr;
constinit Doorbell* signal_requests = nullptr;

void on_report_signal() {
  signal_count->fetch_add(1, std::memory_order_release);
  signal_requests->raise();
}

void on_changed_handler() { signal_requests->raise(); }

// Tries to lock within a time limit. It polls, because the program's thread sanitizer does not
// recognise a timed lock and would report the unlock.
bool lock_within(std::mutex& mutex, std::uint64_t limit_ns) noexcept {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  const std::uint64_t begin = now_ns();
  while (!mutex.try_lock()) {
    if (elapsed_ns(begin) >= limit_ns) return false;
    nap(kPause);
  }
  return true;
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
  has_thread_ = pthread_create(&thread_, &attributes, run, this) == 0;
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
  take_signal(signal, on_report_signal, on_changed_handler);
}

void Triggers::report_and_wait(const char* trigger, Patience patience) noexcept {
  if (!has_thread_ || helper_.load(std::memory_order_relaxed) == gettid()) {
    if (writer_.exchange(gettid(), std::memory_order_relaxed) == gettid()) return;
    const Uncancelled uncancelled;
    const GivesUpLostLocks gives_up;
    own_stack::run([&] { callbacks_.write_report(callbacks_.context, trigger, writing_); });
    return writer_.store(0, std::memory_order_relaxed);
  }
  if (!lock_within(one_waiter_, kLockLimitNs)) return;
  const std::lock_guard only(one_waiter_, std::adopt_lock);
  const std::uint32_t written = written_.value();
  waiting_for_.store(trigger, std::memory_order_release);
  requests_.raise();
  const std::uint64_t asked = now_ns();
  std::uint64_t used = 0;
  for (int idle = 0; !written_.wait_beyond(written, kLookNs);) {
    idle = gets_on(used) ? 0 : idle + 1;
    if (idle < kMostIdleLooks && elapsed_ns(asked) < patience.limit_ns) continue;
    return say(patience.given_up);
  }
}

// A slow helper (on an emulated or overloaded machine, or in a group limited to a hundredth of a
// processor) still uses some processor time in each second. A blocked helper uses none, except for
// looking at a lock.
bool Triggers::gets_on(std::uint64_t& used) const noexcept {
  clockid_t clock{};
  const bool is_known = pthread_getcpuclockid(thread_, &clock) == 0;
  const std::uint64_t now = is_known ? read_clock_ns(clock) : 0;
  const bool works = now != std::exchange(used, now) && !AwaitsLock::on();
  return works || writing_.load(std::memory_order_acquire);
}

void Triggers::main_thread_ended() noexcept {
  main_ended_.store(true, std::memory_order_release);
  requests_.raise();
}

void* Triggers::run(void* self) noexcept {
  pthread_setname_np(pthread_self(), helper_name({}).data());
  static_cast<Triggers*>(self)->serve();
}

namespace {

// Whether the main thread has ended (it stays as a zombie) and only the calling thread is left.
bool is_last_thread() noexcept {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return false;
  int others = 0;
  while (const dirent* entry = readdir(threads)) {
    const int thread = std::atoi(entry->d_name);
    if (thread != 0 && thread != getpid() && thread != gettid()) ++others;
  }
  closedir(threads);
  return others == 0;
}

}  // namespace

std::uint64_t Triggers::wait_limit_ns() noexcept {
  std::uint64_t limit = callbacks_.due_in_ns(callbacks_.context);
  if (callbacks_.has_trace(callbacks_.context)) limit = std::min(limit, kTraceNs);
  if (main_ended_.load(std::memory_order_acquire)) limit = std::min(limit, kLookNs);
  if (held_until_ns_ == 0) return limit;
  return std::min(limit, held_until_ns_ - std::min(held_until_ns_, now_ns()));
}

void Triggers::wait_beyond(std::uint32_t seen) noexcept {
  const bool main_ended = main_ended_.load(std::memory_order_acquire);
  const std::uint64_t limit = wait_limit_ns();
  if (callbacks_.is_open(callbacks_.context)) {
    converse_beyond(seen, limit);
  } else if (limit == TriggerCallbacks::kForever) {
    requests_.wait_beyond(seen);
  } else {
    requests_.wait_beyond(seen, limit);
  }
  if (main_ended && is_last_thread()) callbacks_.end_process(callbacks_.context);
}

// The program's threads raise a futex, for which poll() cannot wait, so it waits a short time.
void Triggers::converse_beyond(std::uint32_t seen, std::uint64_t limit_ns) noexcept {
  const std::uint64_t begun = now_ns();
  while (requests_.value() == seen && callbacks_.is_open(callbacks_.context)) {
    const std::uint64_t passed = elapsed_ns(begun);
    if (passed >= limit_ns) return;
    callbacks_.converse(callbacks_.context, std::min(kConverseNs, limit_ns - passed), writing_);
  }
}

void Triggers::serve() noexcept {
  helper_.store(gettid(), std::memory_order_relaxed);
  for (std::uint32_t seen = 0;;) {
    wait_beyond(seen);
    seen = requests_.value();
    serve_requests();
  }
}

// `vramscope snapshot` reads this name.
void Triggers::tell_state() noexcept {
  using Quota = HelperState::Quota;
  const bool is_used_up = callbacks_.held_back_ns(callbacks_.context) == TriggerCallbacks::kForever;
  const Quota quota = is_used_up            ? Quota::used_up
                      : held_until_ns_ != 0 ? Quota::held_back
                                            : Quota::free;
  const HelperState now{.is_beside_handler = program_handles_signal(), .quota = quota};
  if (now == told_) return;
  told_ = now;
  pthread_setname_np(pthread_self(), helper_name(now).data());
}

// One report answers all signals that arrived before it began. A report that must wait is not
// forgotten.
void Triggers::answer_signals() noexcept {
  const std::uint32_t signals = signals_.load(std::memory_order_acquire);
  held_until_ns_ = 0;
  if (signals == served_signals_) return;
  const std::uint64_t wait_ns = callbacks_.held_back_ns(callbacks_.context);
  if (wait_ns != 0 && wait_ns != TriggerCallbacks::kForever) {
    held_until_ns_ = now_ns() + wait_ns;
    say_once(Once::reports_in_a_second,
             "more than 10 signals asked for a report within one second; one report for the others "
             "follows when the second is over");
    return;
  }
  served_signals_ = signals;
  if (wait_ns == 0) return callbacks_.write_report(callbacks_.context, "signal", writing_);
  say_once(Once::reports_in_all,
           "1,000 reports were written for signals; further signals write none, but a report is "
           "still written at exit");
}

void Triggers::serve_requests() noexcept {
  tell_state();
  const GivesUpLostLocks gives_up;
  const std::uint64_t now = now_ns();
  const bool all = callbacks_.has_trace(callbacks_.context) && now - trace_written_ns_ >= kTraceNs;
  if (all) trace_written_ns_ = now;
  callbacks_.write_trace(callbacks_.context, all);
  callbacks_.look(callbacks_.context);
  answer_signals();
  tell_state();
  if (const char* trigger = waiting_for_.exchange(nullptr, std::memory_order_acq_rel)) {
    callbacks_.write_report(callbacks_.context, trigger, writing_);
    written_.raise();
  }
  while (const char* trigger = callbacks_.due(callbacks_.context)) {
    callbacks_.write_report(callbacks_.context, trigger, writing_);
  }
}

}  // namespace vramscope
