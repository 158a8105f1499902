// The guard says whether code of ours runs on a thread: calls that the thread makes meanwhile go
// straight to the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/ground/leaving.h"
#include "allocator/ground/uncancelled.h"

namespace vramscope {

[[nodiscard]] inline std::uintptr_t stack_address(const void* object) noexcept {
  return reinterpret_cast<std::uintptr_t>(object);
}

// The thread left what has the mark without returning from it, by longjmp from a signal handler:
// `entering` is an older object of the same stack than that, or has its very place. Never when
// there is doubt: another stack (of a signal handler, of a coroutine), or a lock of ours that it
// may hold.
[[nodiscard]] bool was_abandoned(const void* entering) noexcept;

// Is the thread, which enters code of ours with an object on its stack, guarded already?
[[nodiscard]] inline bool is_guarded(const void* entering) noexcept {
  const std::uintptr_t mark = guard_mark;
  if (mark == 0) [[likely]]
    return false;
  return stack_address(entering) < mark || !was_abandoned(entering);
}

// What the guard has others do, since it knows neither the allocator nor the profiler.
struct GuardCallbacks {
  // Could the allocator's lock be taken within a short time?
  bool (*allocator_is_open)() noexcept;
  // What the thread freed while it was guarded takes effect. may_wait: for the device.
  void (*complete_deferred_frees)(bool may_wait) noexcept;
};
// Once, before anything is recorded. They are kept by reference.
void set_guard_callbacks(const GuardCallbacks& callbacks) noexcept;

// Guards the thread while code of ours runs that no call of the program's caused, and that takes
// memory under our locks: a malloc of the program's own may call CUDA. Keeps errno. What was freed
// meanwhile takes effect at the end. The thread is not cancelled meanwhile.
// Threads: one, the calling thread.
class CallGuard {
 public:
  // Whether the end may wait for the device.
  enum class Ends : bool { without_waiting, as_a_free };
  explicit CallGuard(Ends ends = Ends::as_a_free) noexcept;
  ~CallGuard() noexcept(false);  // a thread that leaves goes on from it (leaving.h)
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  const Uncancelled uncancelled_;
  const bool outermost_;
  const Ends ends_;
  const int errno_;
};

}  // namespace vramscope
