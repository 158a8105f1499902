// Walks the frames of a thread's state.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/stack.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "reporter/record/stack/capture.h"
#include "reporter/record/stack/hash.h"
#include "reporter/record/stack/proven_memory.h"

namespace vramscope {

namespace {

using Address = std::uintptr_t;
using proven::at;
using proven::covers;
using proven::read;

constinit std::atomic<const PythonInterpreter*> found{nullptr};

// The first and the last 8 bytes of some memory, all of it where there are fewer; mixed.
[[gnu::always_inline]] inline bool mix_ends(Address data, std::uint64_t bytes,
                                            std::uint64_t& mixed) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  std::uint64_t first = 0;
  if (bytes >= kWord) {
    // Behind a wild length too there must be memory.
    if (!covers(data, kWord) || !covers(data + bytes - kWord, kWord)) return false;
    mixed = mix(mixed, at<std::uint64_t>(data), at<std::uint64_t>(data + bytes - kWord));
    return true;
  }
  if (bytes != 0 && !covers(data, bytes)) return false;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    first |= std::uint64_t{at<std::uint8_t>(data + i)} << (8 * i);
  }
  mixed = mix(mixed, first);
  return true;
}

[[gnu::always_inline]] inline bool mix_bytes(const PythonLayout& layout, Address object,
                                             std::uint64_t& mixed) {
  if (!covers(object, layout.bytes_data)) return false;
  const auto bytes = at<std::uint64_t>(object + layout.bytes_size);
  mixed ^= object ^ bytes;
  return mix_ends(object + layout.bytes_data, bytes, mixed);
}

[[gnu::always_inline]] inline bool mix_text(const PythonLayout& layout, Address object,
                                            std::uint64_t& mixed) {
  if (!covers(object, layout.ascii_data)) return false;
  const auto length = at<std::uint64_t>(object + layout.text_length);
  const bool is_ascii = text_state(at<std::uint32_t>(object + layout.text_state)).is_ascii;
  mixed ^= object ^ length;
  // Of wider characters only the first half or quarter counts.
  return mix_ends(object + (is_ascii ? layout.ascii_data : layout.compact_data), length, mixed);
}

// Tells a code object from any that had, or will have, its address: by where its parts are, by its
// name and by its lines. False when it is none. The parts are mixed side by side: one after the
// other their multiplications would take half of the time of a frame.
[[gnu::always_inline]] inline bool identify(const PythonInterpreter& python, Address code,
                                            std::uint64_t& identity) {
  const PythonLayout& layout = python.layout;
  if (!covers(code, python.code_bytes)) return false;
  if (at<Address>(code + layout.object_type) != python.code_type) return false;
  const auto first_line = at<std::uint32_t>(code + layout.code_first_line);
  std::uint64_t lines = kHashSeed;
  std::uint64_t name = ~kHashSeed;
  std::uint64_t file = kHashSeed >> 1;
  if (!mix_bytes(layout, at<Address>(code + layout.code_lines), lines) ||
      !mix_text(layout, at<Address>(code + layout.code_name), name) ||
      !mix_text(layout, at<Address>(code + layout.code_file), file)) {
    return false;
  }
  identity = mix(mix(file, code, first_line), lines, name);
  return true;
}

// The innermost frame of a thread's state; 0: none.
Address innermost(const PythonLayout& layout, Address state) {
  Address frame = 0;
  if (!read(state + layout.thread_frame, frame)) return 0;
  if (layout.holder_frame == PythonLayout::kNone || frame == 0) return frame;
  return read(frame + layout.holder_frame, frame) ? frame : 0;
}

// While one thread ends the interpreter it takes the states of the others away, and what their
// frames run: looked at before each frame.
[[gnu::always_inline]] inline bool is_ending(const PythonInterpreter& python, Address state) {
  const Address where = python.runtime + python.layout.runtime_finalizing;
  if (!covers(where, sizeof(Address))) return true;
  const auto ender = at<Address>(where);
  return ender != 0 && ender != state;
}

class PythonWalk {
 public:
  PythonWalk(const PythonInterpreter& python, Address state, Stack& stack, std::size_t max_depth)
      : python_(python),
        layout_(python.layout),
        state_(state),
        stack_(stack),
        max_depth_(max_depth) {}

  void run(Address frame) {
    // A chain that runs in a circle ends too: steps without a frame are rare.
    std::size_t steps = 2 * max_depth_;
    while (frame != 0 && stack_.python_depth < max_depth_ && steps-- > 0) {
      if (is_ending(python_, state_) || !step(frame)) return;
    }
  }

 private:
  bool step(Address& frame) {
    if (!covers(frame, python_.frame_bytes)) return false;
    const auto owner = at<std::uint8_t>(frame + layout_.frame_owner);
    if (layout_.frame_entry == PythonLayout::kNone && owner >= kOwnerOfLoop) {
      end_loop();
    } else if (!add(frame)) {
      return false;
    }
    frame = at<Address>(frame + layout_.frame_previous);
    return true;
  }

  bool add(Address frame) {
    const Address code = at<Address>(frame + layout_.frame_code) & ~layout_.code_tag;
    const auto instruction = at<Address>(frame + layout_.frame_instruction);
    PythonFrame& added = stack_.python[stack_.python_depth];
    added.code = code;
    added.offset = 0;
    added.ends_loop = false;
    if (!identify(python_, code, added.identity)) return false;
    // Before the first instruction a frame points in front of it.
    const Address first = code + layout_.code_instructions;
    constexpr Address kMostBytes = std::uint32_t{1} << 31;
    if (instruction > first && instruction - first < kMostBytes) {
      added.offset = static_cast<std::uint32_t>(instruction - first);
    }
    if (layout_.frame_entry != PythonLayout::kNone) {
      added.ends_loop = at<std::uint8_t>(frame + layout_.frame_entry) != 0;
    }
    stack_.add_python();
    return true;
  }

  void end_loop() {
    if (stack_.python_depth == 0) return;
    stack_.python[--stack_.python_depth].ends_loop = true;
    stack_.add_python();
  }

  const PythonInterpreter& python_;
  const PythonLayout& layout_;
  const Address state_;
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

}  // namespace

bool set_sizes(PythonInterpreter& interpreter) noexcept {
  const PythonLayout& layout = interpreter.layout;
  const std::uint32_t entry = layout.frame_entry == PythonLayout::kNone ? 0 : layout.frame_entry;
  constexpr std::uint32_t kWord = 8;
  interpreter.frame_bytes = kWord + std::max({layout.frame_code, layout.frame_previous,
                                              layout.frame_instruction, layout.frame_owner, entry});
  interpreter.code_bytes =
      kWord + std::max({layout.object_type, layout.code_first_line, layout.code_file,
                        layout.code_name, layout.code_lines});
  constexpr std::uint32_t kMost = 4096;  // what covers() may be asked for
  return std::max({interpreter.frame_bytes, interpreter.code_bytes, layout.ascii_data,
                   layout.bytes_data}) <= kMost;
}

const PythonInterpreter* python() noexcept { return found.load(std::memory_order_acquire); }

void use_python(const PythonInterpreter* interpreter) noexcept {
  found.store(interpreter, std::memory_order_release);
  capture_python_by(interpreter != nullptr ? &capture_python : nullptr);
}

void capture_python(Stack& stack, std::size_t max_depth) noexcept {
  stack.python_depth = 0;
  const PythonInterpreter* const interpreter = python();
  if (interpreter == nullptr) return;
  const auto state = reinterpret_cast<Address>(interpreter->this_thread());
  if (state == 0 || is_ending(*interpreter, state)) return;
  proven::begin_walk();
  PythonWalk walk(*interpreter, state, stack, std::min(max_depth, kMaxFrames));
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
