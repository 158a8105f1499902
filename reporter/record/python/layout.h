// PythonLayout says where CPython keeps a thread's frames and what a frame runs, by version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace vramscope {

// Offsets in bytes from the begin of the structure that the name begins with. Sources: CPython's
// Include/cpython/{pystate,code,unicodeobject}.h and Include/internal/pycore_{frame,interp,
// runtime}.h of each version; from 3.13 on _Py_DebugOffsets at the begin of _PyRuntime.
struct PythonLayout {
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::uint32_t runtime_finalizing;   // the thread state that ends the interpreter, or null
  std::uint32_t runtime_interpreter;  // the list of interpreters
  std::uint32_t interpreter_next;
  std::uint32_t interpreter_thread;  // the list of its threads' states
  std::uint32_t thread_next;
  std::uint32_t thread_id;     // pthread_t
  std::uint32_t thread_frame;  // the innermost frame, or what holds it
  std::uint32_t holder_frame;  // there; kNone: thread_frame is the frame itself
  std::uint32_t frame_code;    // or another object, where no function runs
  std::uint32_t frame_previous;
  std::uint32_t frame_instruction;
  std::uint32_t frame_owner;  // a byte
  std::uint32_t frame_entry;  // a byte: outermost of its evaluation loop; kNone: by the owner
  std::uint32_t code_first_line;
  std::uint32_t code_file;
  std::uint32_t code_name;  // qualified
  std::uint32_t code_lines;
  std::uint32_t code_instructions;
  std::uint32_t object_type;
  std::uint32_t bytes_size;
  std::uint32_t bytes_data;
  std::uint32_t text_length;
  std::uint32_t text_state;  // a word, below
  std::uint32_t ascii_data;
  std::uint32_t compact_data;
  std::uint64_t code_tag;  // bits of frame_code that are no part of the address

  friend bool operator==(const PythonLayout&, const PythonLayout&) = default;
};

// The owner of frames that are no function's but an evaluation loop's own, and above.
inline constexpr std::uint8_t kOwnerOfLoop = 3;

// `version`: as PY_VERSION_HEX. `runtime`: the address of _PyRuntime, read where versions publish
// their offsets there. Empty: not known.
[[nodiscard]] std::optional<PythonLayout> python_layout(std::uint32_t version,
                                                        std::uintptr_t runtime) noexcept;

// What a str says of its characters: bytes of each, whether they stand right behind it, and whether
// all are ASCII.
struct TextState {
  std::uint32_t width;
  bool is_compact;
  bool is_ascii;
};
[[nodiscard]] constexpr TextState text_state(std::uint32_t state) noexcept {
  // The two lowest bits tell of something else; or the lower half does, and nothing stands in the
  // bits behind these two.
  constexpr std::uint32_t kKind = 0x1c;
  if ((state & kKind) == 0) state >>= 14;
  return {.width = state >> 2 & 7U,
          .is_compact = (state & 0x20U) != 0,
          .is_ascii = (state & 0x40U) != 0};
}

// What python_layout() knows.
inline constexpr const char* kKnownPythons = "3.11, 3.12, 3.13 and 3.14";

}  // namespace vramscope
