// Our own stacks: what takes much of a stack runs on one of ours, since the program has measured
// its threads' for itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// own_stack_switch_*.S
extern "C" __attribute__((visibility("hidden"))) void vramscope_switch_stack(
    void* end, void (*function)(void*) noexcept, void* argument) noexcept;

namespace vramscope::own_stack {

// Of addresses; pages are taken as they are used. Handlers of the program's signals run on it too
// when they interrupt us.
inline constexpr std::size_t kBytes = std::size_t{256} << 10;

// The end of the stack of ours on which something runs on this thread, or did when it was
// interrupted; null: nothing does.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local void* volatile used;
[[nodiscard]] inline bool is_used() noexcept { return used != nullptr; }

// A stack that nobody uses, by its end; the threads of a process have them in turn. Null: the
// system refuses memory. Both keep errno. Threads: any, also in a signal handler.
[[nodiscard]] void* take() noexcept;
void give_back(void* end) noexcept;

// Runs function(argument) on a stack of ours and returns when it has. In place where there is none,
// or the thread has one in use already (a signal handler interrupted what runs on it). Unwinders
// and walks along frame pointers find their way back from it to the program's stack. No call of the
// driver is made there: the program may be called back from it. Threads: any.
inline void call(void (*function)(void* argument) noexcept, void* argument) noexcept {
  void* const end = is_used() ? nullptr : take();
  if (end == nullptr) return function(argument);
  used = end;
  vramscope_switch_stack(end, function, argument);
  used = nullptr;
  give_back(end);
}

// The same with anything that can be called. It must not throw.
template <class Work>
inline void run(Work&& work) noexcept {
  call([](void* argument) noexcept { (*static_cast<Work*>(argument))(); }, &work);
}

// Whether the address is on the stack of ours that the calling thread uses.
[[nodiscard]] bool holds(const void* address) noexcept;

// Where a walk along frame pointers begins: at `frame`, or when that is on the stack of ours at the
// frame on the program's stack from which we came.
[[nodiscard]] const void* program_frame(const void* frame) noexcept;

// What ran there was left for ever, by longjmp from a signal handler: the stack is free again.
void abandon() noexcept;

}  // namespace vramscope::own_stack
