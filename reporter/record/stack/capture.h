// capture() takes the call stack of the calling thread: its native frames and its Python frames.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "reporter/record/stack/recorded_walk.h"
#include "reporter/record/stack/stack.h"

namespace vramscope {

enum class StackMethod : std::uint8_t { none, frame_pointers, unwind_tables };

// Opens libunwind (dlopen "libunwind.so.8", RTLD_LOCAL) if `wanted` asks for it, and returns the
// method that will be used: unwind_tables, else frame_pointers, else none. Must be called once,
// before any capture, on a thread that holds no lock.
StackMethod open_stacks(StackMethod wanted, std::size_t max_depth,
                        DlsymFunction real_dlsym) noexcept;

// Sets the function that adds at most `max_depth` Python frames of the calling thread to a stack;
// null: stacks have no Python frames. Threads: any.
using PythonCapture = void (*)(Stack& stack, std::size_t max_depth) noexcept;
void capture_python_by(PythonCapture capture) noexcept;

// Returns whether capture() may find frames, for which it needs a method or a PythonCapture.
// Threads: any.
[[nodiscard]] bool captures_frames() noexcept;

// Returns whether capture() would find only native frames.
[[nodiscard]] bool captures_native_only(StackPart part) noexcept;

// Returns where the program called the function of ours whose frame is `frame`. The slot is 0 if
// other code of ours called it.
[[nodiscard]] Door door_at(const void* frame) noexcept;

// Completes a stack that this thread captured before an interpreter was found or objects were
// unloaded. Must be called from the capturing function or from one that it called. Keeps errno.
void capture_again(Stack& stack, StackPart part) noexcept;

// Fills `stack` with the calling thread's frames, without frames of the library or program that
// this code is linked into. Never fails: a walk that cannot go on gives a shorter stack. On a stack
// that is not the thread's own (a coroutine's), frame pointers give no frames. For that method,
// code between the caller and this function must be compiled with frame pointers. Python frames are
// taken by every method if a PythonCapture is set and `part` is all. Threads: any. Takes no lock of
// ours; keeps errno. On the thread's stack of ours (own_stack.h), repeated stacks are recognised
// without a walk and carry a note.
void capture(Stack& stack, StackPart part = StackPart::all) noexcept;

}  // namespace vramscope
