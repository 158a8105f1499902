// Stack is a call stack of the calling thread: return addresses, and what its Python frames run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vramscope {

inline constexpr std::size_t kMaxFrames = 128;

// A frame of Python: the instruction `offset` bytes behind the first of the code object at `code`.
// Without initial values: to clear those of a stack would cost each call 30 ns.
struct PythonFrame {
  std::uintptr_t code;
  std::uint64_t identity;  // of the code object; another one at the same address has another
  std::uint32_t offset;
  bool ends_loop;  // the outermost that its evaluation loop runs
};

// Return addresses, innermost first, our own library's frames removed; and beside them the thread's
// Python frames, innermost first.
struct Stack {
  std::array<std::uintptr_t, 2 * kMaxFrames> frames;  // `depth` of them; behind them key words
  std::size_t depth = 0;
  std::array<PythonFrame, kMaxFrames> python;
  std::size_t python_depth = 0;

  [[nodiscard]] std::span<const std::uintptr_t> view() const { return {frames.data(), depth}; }
  [[nodiscard]] std::span<const PythonFrame> python_view() const {
    return {python.data(), python_depth};
  }
  // Everything that tells this stack from another: the addresses and a word for each Python frame.
  [[nodiscard]] std::span<const std::uintptr_t> words() const {
    return {frames.data(), depth + python_depth};
  }
  // When all addresses are there.
  void add(const PythonFrame& frame);
};

enum class StackMethod : std::uint8_t { none, frame_pointers, unwind_tables };

// Opens libunwind (dlopen "libunwind.so.8", RTLD_LOCAL) if `wanted` asks for it and returns what
// will be used: unwind_tables, else frame_pointers, else none. Call once, before any capture, on a
// thread that holds no lock. `real_dlsym` is the C library's own dlsym (ours is exported and must
// not be entered from here).
using DlsymFunction = void* (*)(void* handle, const char* name);
StackMethod open_stacks(StackMethod wanted, std::size_t max_depth,
                        DlsymFunction real_dlsym) noexcept;

// How the Python frames of the calling thread are added to a stack, at most so many; null: they are
// not. Threads: any.
using PythonCapture = void (*)(Stack& stack, std::size_t max_depth) noexcept;
void capture_python_by(PythonCapture capture) noexcept;

// Adds the Python frames to a stack that was captured on this thread, from the same function or one
// that it called, before there was an interpreter. Keeps errno.
void capture_python_again(Stack& stack) noexcept;
// As much of a stack as nearly always tells who asks, behind the CUDA runtime's own frames.
inline constexpr std::size_t kOwnerFrames = 10;

// Fills `stack` with the calling thread's frames, without those of the library or program that this
// code is linked into. Never fails: a walk that cannot go on gives a shorter stack, and on a stack
// that is not the thread's own (a coroutine's) frame pointers give none. Code between the caller
// and here must be compiled with frame pointers for that method. Python frames are taken whatever
// the method, once there is a PythonCapture. Threads: any. Takes no lock of ours; keeps
// errno.
// most: frames wanted, at most as many as open_stacks() said; with fewer, none of Python.
void capture(Stack& stack, std::size_t most = kMaxFrames) noexcept;

}  // namespace vramscope
