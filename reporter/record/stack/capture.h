// capture() takes the call stack of the calling thread: its native frames, and those of Python.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "reporter/record/stack/recorded_walk.h"
#include "reporter/record/stack/stack.h"

namespace vramscope {

enum class StackMethod : std::uint8_t { none, frame_pointers, unwind_tables };

// Opens libunwind (dlopen "libunwind.so.8", RTLD_LOCAL) if `wanted` asks for it and returns what
// will be used: unwind_tables, else frame_pointers, else none. Call once, before any capture, on a
// thread that holds no lock.
StackMethod open_stacks(StackMethod wanted, std::size_t max_depth,
                        DlsymFunction real_dlsym) noexcept;

// How the Python frames of the calling thread are added to a stack, at most so many; null: they are
// not. Threads: any.
using PythonCapture = void (*)(Stack& stack, std::size_t max_depth) noexcept;
void capture_python_by(PythonCapture capture) noexcept;

// Whether capture() may find frames: not without a method and a PythonCapture. Threads: any.
[[nodiscard]] bool captures_frames() noexcept;

// Whether it would find native frames and no others.
[[nodiscard]] bool captures_native_only(StackPart part) noexcept;

// The door of the function of ours that has its frame there: where the program called it. None
// (slot 0) when other code of ours did.
[[nodiscard]] Door door_at(const void* frame) noexcept;

// Completes a stack that was captured on this thread, from the same function or one that it called,
// before there was an interpreter or before objects were unloaded. Keeps errno.
void capture_again(Stack& stack, StackPart part) noexcept;

// Fills `stack` with the calling thread's frames, without those of the library or program that this
// code is linked into. Never fails: a walk that cannot go on gives a shorter stack, and on a stack
// that is not the thread's own (a coroutine's) frame pointers give none. Code between the caller
// and here must be compiled with frame pointers for that method. Python frames are taken whatever
// the method, once there is a PythonCapture and all is wanted. Threads: any. Takes no lock of ours;
// keeps errno. On the thread's stack of ours (own_stack.h), stacks that come again and again are
// known without a walk, and carry a note.
void capture(Stack& stack, StackPart part = StackPart::all) noexcept;

}  // namespace vramscope
