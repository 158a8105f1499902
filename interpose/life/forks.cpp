// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/forks.h"

#include <pthread.h>

#include <atomic>
#include <ctime>

#include "allocator/base/fault.h"
#include "allocator/base/fork_locks.h"
#include "allocator/base/kept_errno.h"
#include "allocator/base/live_copy.h"
#include "allocator/base/nap.h"
#include "interpose/base/guard.h"
#include "interpose/life/control.h"
#include "interpose/life/own_socket.h"
#include "interpose/life/signals.h"
#include "interpose/tools/cupti_session.h"
#include "interpose/tools/nvtx.h"

namespace vramscope {
namespace {

constinit const LiveMemory* live_memory = nullptr;
constinit LiveCopy live_copy;

// Set while a forking thread uses `live_copy`, since several threads may fork at once.
constinit std::atomic_flag is_taken = ATOMIC_FLAG_INIT;
__attribute__((tls_model("initial-exec"))) constinit thread_local bool has_copy = false;

constexpr int kTries = 5000;  // a second in all
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000};

bool take_turn() noexcept {
  const KeptErrno kept;
  for (int i = 0; i < kTries; ++i) {
    if (!is_taken.test_and_set(std::memory_order_acquire)) return true;
    nap(kPause);
  }
  return false;
}

void end_turn() noexcept {
  ForkLock::release_all();
  has_copy = false;
  is_taken.clear(std::memory_order_release);
}

// If a signal handler that interrupted a call of ours forks, its child may return to that call,
// without the live pages and with locks that nobody unlocks. Other forks cost nothing.
void before_fork() noexcept {
  NewSockets::before_fork();
  if (guard_mark == 0 || Profiler::active() == nullptr) return;
  has_copy = take_turn();
  if (!has_copy) return;
  ForkLock::hold_all();
  live_copy.take(*live_memory);
}

void after_fork_in_parent() noexcept {
  NewSockets::after_fork_in_parent();
  if (!has_copy) return;
  live_copy.drop();
  end_turn();
}

// Our locks may be held by threads that the child lacks, so only an unfinished call uses our data
// again. Children that run no fork handlers lose the mark, too.
void after_fork_in_child() noexcept {
  if (has_copy) {
    live_copy.put(*live_memory);
    end_turn();
  }
  Profiler::deactivate();
  NewSockets::after_fork_in_child();
  Control::leave_in_child();
  abandon_ranges();
  cupti::abandon();
  return_signal();
}

}  // namespace

void handle_forks(Profiler& profiler, const LiveMemory& live) noexcept {
  live_memory = &live;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (fault(Fault::lock_over_fork)) {
    static Profiler* const own = &profiler;
    pthread_atfork(nullptr, nullptr, [] { static_cast<void>(own->allocator().idle_bytes(0)); });
  }
}

}  // namespace vramscope
