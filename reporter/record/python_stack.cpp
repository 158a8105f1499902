// Walks the frames of a thread's state.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python_stack.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "reporter/record/hash.h"
#include "reporter/record/proven_memory.h"

namespace vramscope {

namespace {

using Address = std::uintptr_t;
using proven::read;

constinit std::atomic<const PythonInterpreter*> found{nullptr};

// The first and the last 8 bytes of some memory, fewer where there are not so many.
struct Ends {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
bool read_ends(Address data, std::uint64_t bytes, Ends& ends) {
  if (bytes < sizeof ends.first) return true;
  return read(data, ends.first) && read(data + bytes - sizeof ends.last, ends.last);
}

// A short text has its length and its address in the identity, and these bytes.
bool mix_text(const PythonLayout& layout, Address text, std::uint64_t& identity) {
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  if (!read(text + layout.text_length, length) || !read(text + layout.text_state, state)) {
    return false;
  }
  constexpr std::uint32_t kAscii = 0x40;
  const Address data = text + ((state & kAscii) != 0 ? layout.ascii_data : layout.compact_data);
  Ends ends;
  if (length < sizeof ends.first) {
    // Texts end with a zero, so there is a byte more.
    for (std::uint64_t i = 0; i < length; ++i) {
      std::uint8_t byte = 0;
      if (!read(data + i, byte)) return false;
      ends.first |= std::uint64_t{byte} << (8 * i);
    }
  } else if (!read_ends(data, length, ends)) {
    return false;
  }
  identity = mix(mix(identity, text, length), ends.first, ends.last);
  return true;
}

// Tells a code object from any that had, or will have, its address: by where its parts are, by its
// name and by its lines. False when it is none.
bool identify(const PythonInterpreter& python, Address code, std::uint64_t& identity) {
  const PythonLayout& layout = python.layout;
  Address type = 0;
  Address file = 0;
  Address name = 0;
  Address lines = 0;
  std::uint32_t first_line = 0;
  if (!read(code + layout.object_type, type) || type != python.code_type) return false;
  if (!read(code + layout.code_first_line, first_line) || !read(code + layout.code_file, file) ||
      !read(code + layout.code_name, name) || !read(code + layout.code_lines, lines)) {
    return false;
  }
  std::uint64_t line_bytes = 0;
  if (!read(lines + layout.bytes_size, line_bytes)) return false;
  Ends ends;
  if (!read_ends(lines + layout.bytes_data, line_bytes, ends)) return false;
  identity = mix(mix(mix(kHashSeed, code, first_line), file, lines), ends.first, ends.last);
  identity = mix(identity, line_bytes);
  return mix_text(layout, name, identity);
}

// The innermost frame of a thread's state; 0: none.
Address innermost(const PythonLayout& layout, Address state) {
  Address frame = 0;
  if (!read(state + layout.thread_frame, frame)) return 0;
  if (layout.holder_frame == PythonLayout::kNone || frame == 0) return frame;
  return read(frame + layout.holder_frame, frame) ? frame : 0;
}

class Walk {
 public:
  Walk(const PythonInterpreter& python, Stack& stack, std::size_t max_depth)
      : python_(python), layout_(python.layout), stack_(stack), max_depth_(max_depth) {}

  void run(Address frame) {
    // A chain that runs in a circle ends too: steps without a frame are rare.
    std::size_t steps = 2 * max_depth_;
    while (frame != 0 && stack_.python_depth < max_depth_ && steps-- > 0) {
      if (!step(frame)) return;
    }
  }

 private:
  bool step(Address& frame) {
    std::uint8_t owner = 0;
    if (!read(frame + layout_.frame_owner, owner)) return false;
    if (layout_.frame_entry == PythonLayout::kNone && owner >= kOwnerOfLoop) {
      end_loop();
    } else if (!add(frame)) {
      return false;
    }
    return read(frame + layout_.frame_previous, frame);
  }

  bool add(Address frame) {
    Address code = 0;
    Address instruction = 0;
    if (!read(frame + layout_.frame_code, code)) return false;
    code &= ~layout_.code_tag;
    if (!read(frame + layout_.frame_instruction, instruction)) return false;
    PythonFrame added{.code = code, .identity = 0, .offset = 0, .ends_loop = false};
    if (!identify(python_, code, added.identity)) return false;
    // Before the first instruction a frame points in front of it.
    const Address first = code + layout_.code_instructions;
    constexpr Address kMostBytes = std::uint32_t{1} << 31;
    if (instruction > first && instruction - first < kMostBytes) {
      added.offset = static_cast<std::uint32_t>(instruction - first);
    }
    if (layout_.frame_entry != PythonLayout::kNone) {
      std::uint8_t entry = 0;
      if (!read(frame + layout_.frame_entry, entry)) return false;
      added.ends_loop = entry != 0;
    }
    stack_.add(added);
    return true;
  }

  void end_loop() {
    if (stack_.python_depth == 0) return;
    PythonFrame last = stack_.python[--stack_.python_depth];
    last.ends_loop = true;
    stack_.add(last);
  }

  const PythonInterpreter& python_;
  const PythonLayout& layout_;
  Stack& stack_;
  const std::size_t max_depth_;
};

// The states that this thread has in the interpreters of a process with several, those with the
// innermost frames first. Other threads change the lists: read through the system, and bounded.
constexpr std::size_t kMostStates = 16;
struct States {
  std::array<std::pair<Address, Address>, kMostStates> found{};  // where, by which they are ordered
  std::size_t count = 0;
};

void add_states(const PythonLayout& layout, Address interpreter, Address running, States& states) {
  constexpr int kMostThreads = 4096;
  Address state = 0;
  if (!proven::copy(interpreter + layout.interpreter_thread, &state, sizeof state)) return;
  for (int i = 0; i < kMostThreads && state != 0 && states.count < kMostStates; ++i) {
    std::uint64_t thread = 0;
    if (!proven::copy(state + layout.thread_id, &thread, sizeof thread)) return;
    if (thread == pthread_self()) {
      // What holds the frames is in the C stack; else the state that runs now is the innermost.
      Address where = state == running ? 0 : 1;
      if (layout.holder_frame != PythonLayout::kNone) {
        (void)proven::copy(state + layout.thread_frame, &where, sizeof where);
      }
      states.found[states.count++] = {where, state};
    }
    if (!proven::copy(state + layout.thread_next, &state, sizeof state)) return;
  }
}

States all_states(const PythonInterpreter& python, Address interpreter, Address running) {
  constexpr int kMostInterpreters = 256;
  States states;
  for (int i = 0; i < kMostInterpreters && interpreter != 0; ++i) {
    add_states(python.layout, interpreter, running, states);
    const Address next = interpreter + python.layout.interpreter_next;
    if (!proven::copy(next, &interpreter, sizeof interpreter)) break;
  }
  std::sort(states.found.begin(), states.found.begin() + static_cast<std::ptrdiff_t>(states.count));
  return states;
}

// 0: one interpreter only, as nearly always.
Address first_of_several(const PythonInterpreter& python) {
  Address first = 0;
  Address next = 0;
  if (!read(python.runtime + python.layout.runtime_interpreter, first) || first == 0) return 0;
  return read(first + python.layout.interpreter_next, next) && next != 0 ? first : 0;
}

// While one thread ends the interpreter it takes the states of the others away.
bool is_ending(const PythonInterpreter& python, Address state) {
  Address ender = 0;
  return !read(python.runtime + python.layout.runtime_finalizing, ender) ||
         (ender != 0 && ender != state);
}

}  // namespace

const PythonInterpreter* python() noexcept { return found.load(std::memory_order_acquire); }

void use_python(const PythonInterpreter* interpreter) noexcept {
  found.store(interpreter, std::memory_order_release);
}

void capture_python(Stack& stack, std::size_t max_depth) noexcept {
  stack.python_depth = 0;
  const PythonInterpreter* const interpreter = python();
  if (interpreter == nullptr) return;
  const auto state = reinterpret_cast<Address>(interpreter->this_thread());
  if (state == 0 || is_ending(*interpreter, state)) return;
  proven::begin_walk();
  Walk walk(*interpreter, stack, std::min(max_depth, kMaxFrames));
  if (const Address first = first_of_several(*interpreter); first != 0) [[unlikely]] {
    const States states = all_states(*interpreter, first, state);
    for (std::size_t i = 0; i < states.count; ++i) {
      walk.run(innermost(interpreter->layout, states.found[i].second));
    }
    return;
  }
  walk.run(innermost(interpreter->layout, state));
}

}  // namespace vramscope
