// Stack is a call stack of the calling thread: return addresses, and what its Python frames run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "allocator/ground/place.h"
#include "reporter/record/stack/hash.h"

namespace vramscope {

inline constexpr std::size_t kMaxFrames = 128;
// As much of a stack as nearly always tells who asks, behind the CUDA runtime's own frames.
inline constexpr std::size_t kOwnerFrames = 10;
// How much of a stack is wanted: all that was asked for at the start, or at most kOwnerFrames.
enum class StackPart : std::uint8_t { all, few };

// A frame of Python: the instruction `offset` bytes behind the first of the code object at `code`.
// Without initial values: to clear those of a stack would cost each call 30 ns.
struct PythonFrame {
  std::uintptr_t code;
  std::uint64_t identity;  // of the code object; another one at the same address has another
  std::uint32_t offset;
  bool ends_loop;  // the outermost that its evaluation loop runs
};

// What was found out about a stack that its thread knows, for the next time that it comes.
struct StackNote {
  std::array<std::uint64_t, 3> rest;  // of the question, besides the frames
  Tag tag;                            // the answer; 0: none yet
  std::uint64_t hash;                 // of its frames
};

// Return addresses, innermost first, our own library's frames removed; and beside them the thread's
// Python frames, innermost first.
struct Stack {
  std::array<std::uintptr_t, 2 * kMaxFrames> frames;  // `depth` of them; behind them key words
  std::size_t depth = 0;
  std::array<PythonFrame, kMaxFrames> python;
  std::size_t python_depth = 0;
  // Until the thread takes its next stack; null: there is none, or frames of Python are there too.
  StackNote* note = nullptr;
  std::uint32_t rules = 0;  // by which it was walked (recorded_walk.h); 0: by none that can go

  [[nodiscard]] std::span<const std::uintptr_t> view() const { return {frames.data(), depth}; }
  [[nodiscard]] std::span<const PythonFrame> python_view() const {
    return {python.data(), python_depth};
  }
  // Everything that tells this stack from another: the addresses and a word for each Python frame.
  [[nodiscard]] std::span<const std::uintptr_t> words() const {
    return {frames.data(), depth + python_depth};
  }
  // Of the native frames, 63 bits.
  [[nodiscard]] std::uint64_t hash() const noexcept;
  // When all addresses are there: the frame that was written behind those of Python is one of them.
  // Written there at once, since a copy of what was just written would be waited for.
  constexpr void add_python() noexcept;
};

// The highest bit tells the word from an address.
constexpr void Stack::add_python() noexcept {
  constexpr std::uintptr_t kPythonMark = std::uintptr_t{1} << 63;
  const PythonFrame& frame = python[python_depth];
  const std::uint64_t place = std::uint64_t{frame.offset} << 1 | (frame.ends_loop ? 1 : 0);
  frames[depth + python_depth++] = mix(frame.identity, place) | kPythonMark;
  note = nullptr;
}

// The C library's own dlsym, for those who open libraries: ours is exported and must not be entered
// from within.
using DlsymFunction = void* (*)(void* handle, const char* name);

}  // namespace vramscope
