// Stack is a call stack of the calling thread: return addresses, and the code that its Python
// frames run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "allocator/base/place.h"
#include "reporter/record/stack/hash.h"

namespace vramscope {

inline constexpr std::size_t kMaxFrames = 128;
// The part of a stack that nearly always shows the owner, behind the CUDA runtime's own frames.
inline constexpr std::size_t kOwnerFrames = 10;
// How much of a stack is wanted: the depth that was set at the start, or at most kOwnerFrames.
enum class StackPart : std::uint8_t { all, few };

// A Python frame: the instruction `offset` bytes behind the first one of the code object at `code`.
// It has no initial values, because to clear those of a stack would cost each call 30 ns.
struct PythonFrame {
  std::uintptr_t code;
  std::uint64_t identity;  // of the code object; another object at the same address has another
                           // identity
  std::uint32_t offset;
  bool ends_loop;  // the outermost frame that its evaluation loop runs
};

// What was found out about a known stack, for the next time that it is met.
struct StackNote {
  std::array<std::uint64_t, 3> rest;  // of the StackKey, without the frames
  Tag tag;                            // the tag; 0: not known yet
  std::uint64_t hash;                 // of the frames
};

// Return addresses, innermost first, without frames of our own library, and next to them the
// thread's Python frames, innermost first.
struct Stack {
  std::array<std::uintptr_t, 2 * kMaxFrames> frames;  // `depth` of them, then the key words of
                                                      // Python frames
  std::size_t depth = 0;
  std::array<PythonFrame, kMaxFrames> python;
  std::size_t python_depth = 0;
  // Valid until the thread takes its next stack. Null: the stack has no note, or it has Python
  // frames.
  StackNote* note = nullptr;
  std::uint32_t rules = 0;  // number of the rules of its walk (recorded_walk.h); 0: the walk used
                            // no rules that can become invalid

  [[nodiscard]] std::span<const std::uintptr_t> view() const { return {frames.data(), depth}; }
  [[nodiscard]] std::span<const PythonFrame> python_view() const {
    return {python.data(), python_depth};
  }
  // Everything that distinguishes this stack from others: the addresses and a word for each Python
  // frame.
  [[nodiscard]] std::span<const std::uintptr_t> words() const {
    return {frames.data(), depth + python_depth};
  }
  // Returns a hash of the native frames, of 63 bits.
  [[nodiscard]] std::uint64_t hash() const noexcept;
  // Adds the Python frame that was written behind the others. Must be called when all addresses are
  // present. The frame is written in place, since a copy of data that was just written would stall.
  constexpr void add_python() noexcept;
};

// The highest bit distinguishes the word from an address.
constexpr void Stack::add_python() noexcept {
  constexpr std::uintptr_t kPythonMark = std::uintptr_t{1} << 63;
  const PythonFrame& frame = python[python_depth];
  const std::uint64_t place = std::uint64_t{frame.offset} << 1 | (frame.ends_loop ? 1 : 0);
  frames[depth + python_depth++] = mix(frame.identity, place) | kPythonMark;
  note = nullptr;
}

// The C library's own dlsym, for code that opens libraries: ours is exported and must not be
// entered from inside.
using DlsymFunction = void* (*)(void* handle, const char* name);

}  // namespace vramscope
