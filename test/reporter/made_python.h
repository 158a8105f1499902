// An interpreter of Python made of plain memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reporter/record/python/stack.h"

namespace vramscope {

// The structures of 3.11 or 3.12 in one piece of memory.
class MadePython {
 public:
  using Address = std::uintptr_t;

  explicit MadePython(std::uint32_t version) : layout(*python_layout(version, 0)) {
    interpreter = {.layout = layout,
                   .runtime = take(1024),
                   .code_type = take(64),
                   .this_thread = [] { return reinterpret_cast<void*>(state_of_thread); },
                   .loop = {0x1000, 0x2000}};
    EXPECT_TRUE(set_sizes(interpreter));
    state = take(512);
    holder = take(64);
    put(state + layout.thread_frame, holder);
    state_of_thread = state;
    use_python(&interpreter);
  }
  ~MadePython() { use_python(nullptr); }
  MadePython(const MadePython&) = delete;
  MadePython& operator=(const MadePython&) = delete;

  template <class T>
  void put(Address address, T value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
  }
  Address take(std::size_t bytes) {
    used_ = (used_ + 63) / 64 * 64 + bytes;
    EXPECT_LE(used_, memory_.size());
    return reinterpret_cast<Address>(memory_.data()) + used_ - bytes;
  }
  Address text(const std::string& ascii) {
    const Address object = take(layout.ascii_data + ascii.size() + 1);
    put(object + layout.text_length, std::uint64_t{ascii.size()});
    put(object + layout.text_state, std::uint32_t{0x40 | 0x20 | 1 << 2});
    std::memcpy(reinterpret_cast<void*>(object + layout.ascii_data), ascii.data(), ascii.size());
    return object;
  }
  Address wide_text(const std::u16string& characters) {
    const Address object = take(layout.compact_data + 2 * characters.size() + 2);
    put(object + layout.text_length, std::uint64_t{characters.size()});
    put(object + layout.text_state, std::uint32_t{0x20 | 2 << 2});
    std::memcpy(reinterpret_cast<void*>(object + layout.compact_data), characters.data(),
                2 * characters.size());
    return object;
  }
  Address code(Address name, std::uint32_t first_line) {
    // Sixteen entries of one instruction, each a line further.
    const Address lines = take(layout.bytes_data + 48);
    put(lines + layout.bytes_size, std::uint64_t{48});
    for (Address entry = 0; entry < 48; entry += 3) {
      put(lines + layout.bytes_data + entry, std::uint32_t{0xd8});
    }
    const Address object = take(512);
    put(object + layout.object_type, interpreter.code_type);
    put(object + layout.code_first_line, first_line);
    put(object + layout.code_file, text("<made>"));
    put(object + layout.code_name, name);
    put(object + layout.code_lines, lines);
    return object;
  }
  Address frame(Address code, std::uint32_t offset, Address previous, bool ends_loop) {
    const Address object = take(128);
    put(object + layout.frame_code, code);
    put(object + layout.frame_instruction, code + layout.code_instructions + offset);
    put(object + layout.frame_previous, previous);
    if (layout.frame_entry != PythonLayout::kNone) {
      put(object + layout.frame_entry, std::uint8_t{ends_loop});
      return object;
    }
    if (!ends_loop) return object;
    const Address of_loop = take(128);  // behind it a frame that is the loop's own
    put(of_loop + layout.frame_owner, kOwnerOfLoop);
    put(of_loop + layout.frame_previous, previous);
    put(object + layout.frame_previous, of_loop);
    return object;
  }
  void run(Address frame) { put(holder + layout.holder_frame, frame); }
  Stack capture() {
    Stack stack;
    stack.depth = 0;
    capture_python(stack, kMaxFrames);
    return stack;
  }

  const PythonLayout layout;
  PythonInterpreter interpreter;
  Address state = 0;
  Address holder = 0;

 private:
  static inline Address state_of_thread = 0;
  alignas(64) std::vector<std::byte> memory_{std::vector<std::byte>(1 << 20)};
  std::size_t used_ = 0;
};

}  // namespace vramscope
