// The guard marks a thread on which our code runs. Calls that the thread makes meanwhile go
// straight to the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/leaving.h"
#include "allocator/base/uncancelled.h"

namespace vramscope {

[[nodiscard]] inline std::uintptr_t stack_address(const void* object) noexcept {
  return reinterpret_cast<std::uintptr_t>(object);
}

// Whether the thread left the marked call without returning, by longjmp from a signal handler.
// `entering` then lies above the marked object on the same stack, or exactly at it. Returns false
// in doubt: on another stack (of a signal handler or a coroutine), or if the thread may hold a lock
// of ours.
[[nodiscard]] bool was_abandoned(const void* entering) noexcept;

// Whether the thread is guarded already. `entering` is an object on its stack with which it enters
// our code.
[[nodiscard]] inline bool is_guarded(const void* entering) noexcept {
  const std::uintptr_t mark = guard_mark;
  if (mark == 0) [[likely]]
    return false;
  return stack_address(entering) < mark || !was_abandoned(entering);
}

// Functions that the guard calls, since it knows neither the allocator nor the profiler.
struct GuardCallbacks {
  // Whether the allocator's lock can be taken within a short time.
  bool (*allocator_is_open)() noexcept;
  // Completes what the thread freed while it was guarded. may_wait: whether to wait for the device.
  void (*complete_deferred_frees)(bool may_wait) noexcept;
};
// Call it once, before anything is recorded. `callbacks` must live as long as the process.
void set_guard_callbacks(const GuardCallbacks& callbacks) noexcept;

// Guards the thread while our code runs without an intercepted call and allocates memory under our
// locks, since the program's malloc may call CUDA. Keeps errno. Frees made meanwhile take effect at
// the end. Cancellation is disabled meanwhile.
// Threads: one, the calling thread.
class CallGuard {
 public:
  // Whether the end of the guard may wait for the device.
  enum class Ends : bool { without_waiting, as_a_free };
  explicit CallGuard(Ends ends = Ends::as_a_free) noexcept;
  ~CallGuard() noexcept(false);  // a thread that is ending continues here (leaving.h)
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  const Uncancelled uncancelled_;
  const bool outermost_;
  const Ends ends_;
  const int errno_;
};

}  // namespace vramscope
