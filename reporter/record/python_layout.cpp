// The table of layouts, and those that are published.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python_layout.h"

#include <cstring>
#include <iterator>

#include "reporter/record/proven_memory.h"

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

// struct _Py_DebugOffsets: a cookie and 64-bit numbers, in this order. 3.14 put one more behind the
// interpreter's threads (threads_main), one behind the frame's owner (stackpointer, tlbc_index) and
// some at the end of structures that are read from their begin.
enum Published313 : std::size_t {
  kVersion = 1,
  kFreeThreaded = 2,
  kFinalizing = 4,
  kInterpreters = 5,
  kInterpreterNext = 8,
  kInterpreterThreads = 9,
  kThreadNext = 21,
  kThreadFrame = 23,
  kThreadId = 24,
  kFramePrevious = 29,
  kFrameExecutable = 30,
  kFrameInstruction = 31,
  kFrameOwner = 33,
  kCodeFile = 35,
  kCodeName = 37,
  kCodeLines = 38,
  kCodeFirstLine = 39,
  kCodeInstructions = 43,
  kObjectType = 45,
  kBytesSize = 65,
  kBytesData = 66,
  kTextState = 68,
  kTextLength = 69,
  kTextAsciiSize = 70,
  kPublished = 71,
};

std::optional<PythonLayout> published_313(std::uint32_t version, std::uintptr_t runtime) {
  std::uint64_t numbers[kPublished];
  constexpr char kCookie[] = "xdebugpy";
  if (!proven::copy(runtime, numbers, sizeof numbers)) return std::nullopt;
  if (std::memcmp(numbers, kCookie, sizeof numbers[0]) != 0) return std::nullopt;
  if (numbers[kVersion] != version || numbers[kFreeThreaded] != 0) return std::nullopt;
  constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 24;  // an interpreter is the largest
  for (std::size_t i = kFinalizing; i < kPublished; ++i) {
    if (numbers[i] > kMostOffset) return std::nullopt;
  }
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(numbers[i]); };
  constexpr std::uint32_t kUtf8Fields = 16;  // of a PyCompactUnicodeObject, behind the ASCII part
  return PythonLayout{.runtime_finalizing = at(kFinalizing),
                      .runtime_interpreter = at(kInterpreters),
                      .interpreter_next = at(kInterpreterNext),
                      .interpreter_thread = at(kInterpreterThreads),
                      .thread_next = at(kThreadNext),
                      .thread_id = at(kThreadId),
                      .thread_frame = at(kThreadFrame),
                      .holder_frame = kNone,
                      .frame_code = at(kFrameExecutable),
                      .frame_previous = at(kFramePrevious),
                      .frame_instruction = at(kFrameInstruction),
                      .frame_owner = at(kFrameOwner),
                      .frame_entry = kNone,
                      .code_first_line = at(kCodeFirstLine),
                      .code_file = at(kCodeFile),
                      .code_name = at(kCodeName),
                      .code_lines = at(kCodeLines),
                      .code_instructions = at(kCodeInstructions),
                      .object_type = at(kObjectType),
                      .bytes_size = at(kBytesSize),
                      .bytes_data = at(kBytesData),
                      .text_length = at(kTextLength),
                      .text_state = at(kTextState),
                      .ascii_data = at(kTextAsciiSize),
                      .compact_data = at(kTextAsciiSize) + kUtf8Fields,
                      .code_tag = 0};
}

}  // namespace

std::optional<PythonLayout> python_layout(std::uint32_t version, std::uintptr_t runtime) noexcept {
  const std::uint32_t minor = version >> 16;
  for (const Row& row : kRows) {
    if (row.version == minor) return row.layout;
  }
  return minor == 0x030d ? published_313(version, runtime) : std::nullopt;
}

}  // namespace vramscope
