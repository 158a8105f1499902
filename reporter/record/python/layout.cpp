// The table of layouts, and the versions that publish theirs.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/layout.h"

#include <cstring>

#include "reporter/record/stack/safe_read.h"

namespace vramscope {

namespace {

struct Row {
  std::uint32_t version;  // major and minor, as in PY_VERSION_HEX
  PythonLayout layout;
};
constexpr std::uint32_t kNone = PythonLayout::kNone;

// Tested with 3.11.2, 3.11.7 and 3.12.1.
constexpr Row kRows[] = {
    {0x030b,
     {.runtime_finalizing = 24,
      .runtime_interpreter = 40,
      .interpreter_next = 0,
      .interpreter_thread = 16,
      .thread_next = 8,
      .thread_id = 152,
      .thread_frame = 56,
      .holder_frame = 8,
      .frame_code = 32,
      .frame_previous = 48,
      .frame_instruction = 56,
      .frame_owner = 69,
      .frame_entry = 68,
      .code_first_line = 72,
      .code_file = 112,
      .code_name = 128,
      .code_lines = 136,
      .code_instructions = 184,
      .object_type = 8,
      .bytes_size = 16,
      .bytes_data = 32,
      .text_length = 16,
      .text_state = 32,
      .ascii_data = 48,
      .compact_data = 72,
      .code_tag = 0}},
    {0x030c,
     {.runtime_finalizing = 24,
      .runtime_interpreter = 40,
      .interpreter_next = 0,
      .interpreter_thread = 72,
      .thread_next = 8,
      .thread_id = 136,
      .thread_frame = 56,
      .holder_frame = 0,
      .frame_code = 0,
      .frame_previous = 8,
      .frame_instruction = 56,
      .frame_owner = 70,
      .frame_entry = kNone,
      .code_first_line = 68,
      .code_file = 112,
      .code_name = 128,
      .code_lines = 136,
      .code_instructions = 192,
      .object_type = 8,
      .bytes_size = 16,
      .bytes_data = 32,
      .text_length = 16,
      .text_state = 32,
      .ascii_data = 40,
      .compact_data = 56,
      .code_tag = 0}},
};

// struct _Py_DebugOffsets at the beginning of _PyRuntime: a cookie, the version, whether threads
// run without the interpreter's lock, and 64-bit offsets in an order that differs between versions.
struct Published {
  std::uint32_t version;  // major and minor
  std::size_t count;      // numbers up to the last that is read
  std::size_t interpreter_next, interpreter_threads;
  std::size_t thread_next, thread_frame, thread_id;
  std::size_t frame_previous, frame_executable, frame_instruction, frame_owner;
  std::size_t code_file, code_name, code_lines, code_first_line, code_instructions;
  std::size_t object_type, bytes_size, bytes_data;
  std::size_t text_state, text_length, text_ascii_size;
  std::uint64_t code_tag;  // in a _PyStackRef
};
enum : std::size_t { kCookieAt = 0, kVersionAt = 1, kFreeThreadedAt = 2 };
enum : std::size_t { kFinalizingAt = 4, kInterpretersAt = 5 };
constexpr std::size_t kMostPublished = 81;
// 3.13 was tested with 3.13.0. 3.14 was not tested: its order and references are taken from its
// headers.
constexpr Published kPublished[] = {
    {0x030d, 71, 8, 9, 21, 23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 45, 65, 66, 68, 69, 70, 0},
    {0x030e, 81, 8, 9, 24, 26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 51, 75, 76, 78, 79, 80, 3},
};

std::optional<PythonLayout> published(const Published& order, std::uint32_t version,
                                      std::uintptr_t runtime) {
  std::uint64_t numbers[kMostPublished];
  constexpr char kCookie[] = "xdebugpy";
  if (!safe_read::copy(runtime, numbers, order.count * sizeof numbers[0])) return std::nullopt;
  if (std::memcmp(&numbers[kCookieAt], kCookie, sizeof numbers[0]) != 0) return std::nullopt;
  if (numbers[kVersionAt] != version || numbers[kFreeThreadedAt] != 0) return std::nullopt;
  constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 24;  // the interpreter is the largest
                                                                 // structure
  for (std::size_t i = kFinalizingAt; i < order.count; ++i) {
    if (numbers[i] > kMostOffset) return std::nullopt;
  }
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(numbers[i]); };
  constexpr std::uint32_t kUtf8Fields = 16;  // in a PyCompactUnicodeObject, behind the ASCII part
  return PythonLayout{.runtime_finalizing = at(kFinalizingAt),
                      .runtime_interpreter = at(kInterpretersAt),
                      .interpreter_next = at(order.interpreter_next),
                      .interpreter_thread = at(order.interpreter_threads),
                      .thread_next = at(order.thread_next),
                      .thread_id = at(order.thread_id),
                      .thread_frame = at(order.thread_frame),
                      .holder_frame = kNone,
                      .frame_code = at(order.frame_executable),
                      .frame_previous = at(order.frame_previous),
                      .frame_instruction = at(order.frame_instruction),
                      .frame_owner = at(order.frame_owner),
                      .frame_entry = kNone,
                      .code_first_line = at(order.code_first_line),
                      .code_file = at(order.code_file),
                      .code_name = at(order.code_name),
                      .code_lines = at(order.code_lines),
                      .code_instructions = at(order.code_instructions),
                      .object_type = at(order.object_type),
                      .bytes_size = at(order.bytes_size),
                      .bytes_data = at(order.bytes_data),
                      .text_length = at(order.text_length),
                      .text_state = at(order.text_state),
                      .ascii_data = at(order.text_ascii_size),
                      .compact_data = at(order.text_ascii_size) + kUtf8Fields,
                      .code_tag = order.code_tag};
}

}  // namespace

std::optional<PythonLayout> python_layout(std::uint32_t version, std::uintptr_t runtime) noexcept {
  const std::uint32_t minor = version >> 16;
  for (const Row& row : kRows) {
    if (row.version == minor) return row.layout;
  }
  for (const Published& order : kPublished) {
    if (order.version == minor) return published(order, version, runtime);
  }
  return std::nullopt;
}

}  // namespace vramscope
