// PythonLayout says where CPython keeps a thread's frames and what a frame runs, for each version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace vramscope {

// Offsets in bytes from the beginning of the structure with which the member's name begins.
// Sources: CPython's Include/cpython/{pystate,code,unicodeobject}.h and
// Include/internal/pycore_{frame,interp,runtime}.h of each version; from 3.13 on _Py_DebugOffsets
// at the beginning of _PyRuntime.
struct PythonLayout {
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::uint32_t runtime_finalizing;   // the thread state that ends the interpreter, or null
  std::uint32_t runtime_interpreter;  // the list of interpreters
  std::uint32_t interpreter_next;
  std::uint32_t interpreter_thread;  // the list of its threads' states
  std::uint32_t thread_next;
  std::uint32_t thread_id;     // pthread_t
  std::uint32_t thread_frame;  // the innermost frame, or a structure that points to it
  std::uint32_t holder_frame;  // in that structure; kNone: thread_frame is the frame itself
  std::uint32_t frame_code;    // or another object, if no function runs
  std::uint32_t frame_previous;
  std::uint32_t frame_instruction;
  std::uint32_t frame_owner;  // a byte
  std::uint32_t frame_entry;  // a byte: the outermost frame of its evaluation loop; kNone: the
                              // owner says so
  std::uint32_t code_first_line;
  std::uint32_t code_file;
  std::uint32_t code_name;  // the qualified name
  std::uint32_t code_lines;
  std::uint32_t code_instructions;
  std::uint32_t object_type;
  std::uint32_t bytes_size;
  std::uint32_t bytes_data;
  std::uint32_t text_length;
  std::uint32_t text_state;  // a word, see TextState
  std::uint32_t ascii_data;
  std::uint32_t compact_data;
  std::uint64_t code_tag;  // bits of frame_code that do not belong to the address

  friend bool operator==(const PythonLayout&, const PythonLayout&) = default;
};

// Owners from this value on mark frames of an evaluation loop itself, not of a function.
inline constexpr std::uint8_t kOwnerOfLoop = 3;

// Returns the layout of a version, or nothing if it is not known. version: as PY_VERSION_HEX.
// runtime: the address of _PyRuntime, which is read for versions that publish their offsets there.
[[nodiscard]] std::optional<PythonLayout> python_layout(std::uint32_t version,
                                                        std::uintptr_t runtime) noexcept;

// The properties of a str's characters: the bytes of each, whether they lie directly behind its
// head, and whether all are ASCII.
struct TextState {
  std::uint32_t width;
  bool is_compact;
  bool is_ascii;
};
[[nodiscard]] constexpr TextState text_state(std::uint32_t state) noexcept {
  // Either the two lowest bits have another meaning, or the whole lower half has one; in the second
  // case the bits of kKind are zero.
  constexpr std::uint32_t kKind = 0x1c;
  if ((state & kKind) == 0) state >>= 14;
  return {.width = state >> 2 & 7U,
          .is_compact = (state & 0x20U) != 0,
          .is_ascii = (state & 0x40U) != 0};
}

// The versions that python_layout() knows.
inline constexpr const char* kKnownPythons = "3.11, 3.12, 3.13 and 3.14";

}  // namespace vramscope
