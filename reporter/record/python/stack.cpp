// Walks the frames of a thread's state.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/stack.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "allocator/base/thread_buffer.h"
#include "reporter/record/stack/capture.h"
#include "reporter/record/stack/hash.h"
#include "reporter/record/stack/safe_read.h"

namespace vramscope {

namespace {

using Address = std::uintptr_t;
using safe_read::at;
using safe_read::covers;
using safe_read::read;

constinit std::atomic<const PythonInterpreter*> found{nullptr};

// The first and the last 8 bytes of some memory. If it is shorter than 8 bytes: all of it, and 0.
struct Ends {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend bool operator==(const Ends&, const Ends&) = default;
};
constexpr std::uint64_t kWord = sizeof(std::uint64_t);

// Bytes or a text to which a code object refers.
struct Part {
  Address object = 0;
  Address data = 0;
  std::uint64_t length = 0;
  Ends ends;
};

// Short memory is read as the end of a word, whose beginning belongs to the same object.
[[gnu::always_inline]] inline Ends ends_of(const Part& part) {
  const Address last = part.data + part.length - kWord;
  if (part.length >= kWord) return {at<std::uint64_t>(part.data), at<std::uint64_t>(last)};
  if (part.length == 0) return {};
  return {at<std::uint64_t>(last) >> (8 * (kWord - part.length)), 0};
}

// Checks both ends, since a wrong length may lead to memory that does not exist.
[[gnu::always_inline]] inline bool covers_ends(const Part& part) {
  if (part.length == 0) return true;
  if (part.length >= kWord && !covers(part.data, kWord)) return false;
  return covers(part.data + part.length - kWord, kWord);
}

// Returns the part without its ends. The object must be readable.
[[gnu::always_inline]] inline Part bytes_at(const PythonLayout& layout, Address object) {
  return {.object = object,
          .data = object + layout.bytes_data,
          .length = at<std::uint64_t>(object + layout.bytes_size),
          .ends = {}};
}

// Of wide characters, only the first half or quarter of the bytes counts.
[[gnu::always_inline]] inline Part text_at(const PythonLayout& layout, Address object) {
  const bool is_ascii = text_state(at<std::uint32_t>(object + layout.text_state)).is_ascii;
  return {.object = object,
          .data = object + (is_ascii ? layout.ascii_data : layout.compact_data),
          .length = at<std::uint64_t>(object + layout.text_length),
          .ends = {}};
}

// Everything that identifies a code object. Pages of an object that was read in this period of
// safe_read::walks are confirmed; pages of an earlier period must be confirmed again.
struct Code {
  Address code = 0;
  std::uint32_t period = 0;
  std::uint32_t first_line = 0;
  std::uint64_t identity = 0;
  Part lines, name, file;
};

std::uint32_t period_now() { return safe_read::walks / safe_read::kWalksBetweenChecks; }

[[gnu::always_inline]] inline bool read_ends(Part& part) {
  if (!covers_ends(part)) return false;
  part.ends = ends_of(part);
  return true;
}

// Returns false if `code` is not a code object.
bool read_code(const PythonInterpreter& python, Address code, Code& found) {
  const PythonLayout& layout = python.layout;
  if (!covers(code, python.code_bytes)) return false;
  if (at<Address>(code + layout.object_type) != python.code_type) return false;
  const auto lines = at<Address>(code + layout.code_lines);
  const auto name = at<Address>(code + layout.code_name);
  const auto file = at<Address>(code + layout.code_file);
  if (!covers(lines, layout.bytes_data) || !covers(name, layout.ascii_data) ||
      !covers(file, layout.ascii_data)) {
    return false;
  }
  found.code = code;
  found.period = period_now();
  found.first_line = at<std::uint32_t>(code + layout.code_first_line);
  found.lines = bytes_at(layout, lines);
  found.name = text_at(layout, name);
  found.file = text_at(layout, file);
  return read_ends(found.lines) && read_ends(found.name) && read_ends(found.file);
}

[[gnu::always_inline]] inline bool is_same(const Part& now, const Part& then) {
  return now.data == then.data && now.length == then.length && ends_of(now) == then.ends;
}

// Returns whether reading it again would give the same. Reads only memory that was read then.
[[gnu::always_inline]] inline bool still_holds(const PythonInterpreter& python, const Code& then) {
  const PythonLayout& layout = python.layout;
  const Address code = then.code;
  return at<Address>(code + layout.object_type) == python.code_type &&
         at<std::uint32_t>(code + layout.code_first_line) == then.first_line &&
         at<Address>(code + layout.code_lines) == then.lines.object &&
         at<Address>(code + layout.code_name) == then.name.object &&
         at<Address>(code + layout.code_file) == then.file.object &&
         is_same(bytes_at(layout, then.lines.object), then.lines) &&
         is_same(text_at(layout, then.name.object), then.name) &&
         is_same(text_at(layout, then.file.object), then.file);
}

[[gnu::always_inline]] inline std::uint64_t mix_part(std::uint64_t seed, const Part& part) {
  return mix(seed ^ part.object ^ part.length, part.ends.first, part.ends.last);
}

// Returns a number that distinguishes a code object from any other that had, or will have, its
// address: from the addresses of its parts, its name and its lines.
std::uint64_t identity_of(const Code& code) {
  const std::uint64_t lines = mix_part(kHashSeed, code.lines);
  const std::uint64_t name = mix_part(~kHashSeed, code.name);
  const std::uint64_t file = mix_part(kHashSeed >> 1, code.file);
  return mix(mix(file, code.code, code.first_line), lines, name);
}

// The code objects that a thread met last. A comparison takes less than half of the time of reading
// them. Threads: each has its own object, which nothing that interrupts the thread uses.
struct KnownCodes {
  static constexpr int kBits = 7;
  std::array<Code, std::size_t{1} << kBits> codes;

  [[nodiscard]] Code& place_of(Address code) { return codes[code * kHashSeed >> (64 - kBits)]; }
  [[nodiscard]] static KnownCodes* of_thread() {
    return thread_buffer::part_of<KnownCodes>(thread_buffer::get(),
                                              &thread_buffer::Parts::python_codes);
  }
};

// Returns false if `code` is not a code object. known: null if the thread has no buffer.
[[gnu::noinline]] bool learn(const PythonInterpreter& python, Address code, KnownCodes* known,
                             std::uint64_t& identity) {
  Code found;
  if (!read_code(python, code, found)) return false;
  identity = found.identity = identity_of(found);
  if (known == nullptr) return true;
  Code& place = known->place_of(code);
  place.code = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // a signal handler may leave by longjmp
  found.code = 0;
  place = found;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  place.code = code;
  return true;
}

[[gnu::always_inline]] inline bool identify(const PythonInterpreter& python, Address code,
                                            KnownCodes* known, std::uint64_t& identity) {
  if (known != nullptr) {
    const Code& then = known->place_of(code);
    if (then.code == code && then.period == period_now() && code != 0 &&
        still_holds(python, then)) {
      identity = then.identity;
      return true;
    }
  }
  return learn(python, code, known, identity);
}

// Returns the innermost frame of a thread's state; 0: none.
Address innermost(const PythonLayout& layout, Address state) {
  Address frame = 0;
  if (!read(state + layout.thread_frame, frame)) return 0;
  if (layout.holder_frame == PythonLayout::kNone || frame == 0) return frame;
  return read(frame + layout.holder_frame, frame) ? frame : 0;
}

// Returns whether another thread ends the interpreter. That thread frees the other threads' states
// and what their frames run, so this is checked before each frame. The runtime must be readable.
[[gnu::always_inline]] inline bool is_ending(const PythonInterpreter& python, Address state) {
  const auto ender = at<Address>(python.runtime + python.layout.runtime_finalizing);
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
    // A circular chain must end, too. Steps without a frame are rare.
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
    if (!identify(python_, code, known_, added.identity)) return false;
    // Before its first instruction a frame points in front of it.
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
  KnownCodes* const known_ = KnownCodes::of_thread();
};

// The states of this thread in a process with several interpreters, those with the innermost frames
// first. Other threads change the lists, so they are read through the system, up to a limit.
constexpr std::size_t kMostStates = 16;
struct States {
  std::array<std::pair<Address, Address>, kMostStates> found{};  // address and state, ordered by
                                                                 // address
  std::size_t count = 0;
};

void add_states(const PythonLayout& layout, Address interpreter, Address running, States& states) {
  constexpr int kMostThreads = 4096;
  Address state = 0;
  if (!safe_read::copy(interpreter + layout.interpreter_thread, &state, sizeof state)) return;
  for (int i = 0; i < kMostThreads && state != 0 && states.count < kMostStates; ++i) {
    std::uint64_t thread = 0;
    if (!safe_read::copy(state + layout.thread_id, &thread, sizeof thread)) return;
    if (thread == pthread_self()) {
      // The structure that holds the frames lies on the C stack, which gives the order. Without it,
      // the running state is the innermost.
      Address where = state == running ? 0 : 1;
      if (layout.holder_frame != PythonLayout::kNone) {
        (void)safe_read::copy(state + layout.thread_frame, &where, sizeof where);
      }
      states.found[states.count++] = {where, state};
    }
    if (!safe_read::copy(state + layout.thread_next, &state, sizeof state)) return;
  }
}

States all_states(const PythonInterpreter& python, Address interpreter, Address running) {
  constexpr int kMostInterpreters = 256;
  States states;
  for (int i = 0; i < kMostInterpreters && interpreter != 0; ++i) {
    add_states(python.layout, interpreter, running, states);
    const Address next = interpreter + python.layout.interpreter_next;
    if (!safe_read::copy(next, &interpreter, sizeof interpreter)) break;
  }
  std::sort(states.found.begin(), states.found.begin() + static_cast<std::ptrdiff_t>(states.count));
  return states;
}

// Returns 0 if the process has only one interpreter, as nearly all have.
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
  constexpr std::uint32_t kMost = 4096;  // the most that covers() accepts
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
  if (state == 0) return;
  safe_read::begin_walk();
  const Address finalizing = interpreter->runtime + interpreter->layout.runtime_finalizing;
  if (!covers(finalizing, sizeof(Address)) || is_ending(*interpreter, state)) return;
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
