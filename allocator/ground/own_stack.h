// Our own stack: what takes much of a stack runs on one of ours, since the program has measured its
// threads' for itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/ground/thread_room.h"

// own_stack_switch_*.S
extern "C" __attribute__((visibility("hidden"))) void vramscope_switch_stack(
    void* end, void (*function)(void*) noexcept, void* argument) noexcept;

namespace vramscope::own_stack {

// Whether something runs on the thread's stack of ours, or did when it was interrupted.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local volatile bool is_used;

// Runs function(argument) on the thread's own stack of ours and returns when it has. In place where
// there is none, or it is in use already (a signal handler interrupted what runs on it). Unwinders
// and walks along frame pointers find their way back from it to the program's stack. No call of the
// driver is made there: the program may be called back from it. Threads: any.
inline void call(void (*function)(void* argument) noexcept, void* argument) noexcept {
  thread_room::Parts* const parts = is_used ? nullptr : thread_room::get();
  if (parts == nullptr) return function(argument);
  is_used = true;
  vramscope_switch_stack(parts, function, argument);
  is_used = false;
}

// The same with anything that can be called. It must not throw.
template <class Work>
inline void run(Work&& work) noexcept {
  call([](void* argument) noexcept { (*static_cast<Work*>(argument))(); }, &work);
}

// Whether the address is on the calling thread's stack of ours.
[[nodiscard]] bool holds(const void* address) noexcept;

// Where a walk along frame pointers begins: at `frame`, or when that is on the stack of ours at the
// frame on the program's stack from which we came.
[[nodiscard]] const void* program_frame(const void* frame) noexcept;

// What ran there was left for ever, by longjmp from a signal handler: the stack is free again.
inline void abandon() noexcept { is_used = false; }

}  // namespace vramscope::own_stack
