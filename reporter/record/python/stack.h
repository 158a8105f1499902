// capture_python() reads the Python frames of the calling thread from the interpreter's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reporter/record/python/layout.h"
#include "reporter/record/stack/own_text.h"
#include "reporter/record/stack/stack.h"

namespace vramscope {

// The interpreter of this process.
struct PythonInterpreter {
  PythonLayout layout{};
  std::uintptr_t runtime = 0;        // _PyRuntime
  std::uintptr_t code_type = 0;      // PyCode_Type
  void* (*this_thread)() = nullptr;  // PyGILState_GetThisThreadState: takes no lock
  std::uint32_t frame_bytes = 0;     // of a frame, up to what is read of it
  std::uint32_t code_bytes = 0;      // of a code object, likewise
  TextRange loop;  // the evaluation loop; empty: not known, then frames are put behind all others
};

enum class PythonState : std::uint8_t {
  none,     // there is no interpreter, or it is not wanted
  unknown,  // of a version whose layout is not known
  read,
};

// Looks for an interpreter and reads its frames from now on. `library`: path of a loaded libpython
// for one that is not visible to all, "" for none. An interpreter that was found stays loaded, and
// no other is looked for. version: its version. Threads: one at a time, without locks.
PythonState open_python(DlsymFunction real_dlsym, const std::string& library,
                        std::string& version) noexcept;

// Sets frame_bytes and code_bytes as the layout has them; false where structures are larger than
// any.
[[nodiscard]] bool set_sizes(PythonInterpreter& interpreter) noexcept;

// What open_python found, null before; never changes again. Threads: any.
[[nodiscard]] const PythonInterpreter* python() noexcept;

// For tests: frames of that interpreter from now on; null: of none.
void use_python(const PythonInterpreter* interpreter) noexcept;

// Adds the calling thread's Python frames to the stack, innermost first, as many as it may have.
// A thread without any, and an interpreter that is being ended, give none; what cannot be read ends
// the walk. Takes no lock, allocates nothing, works with and without the interpreter's lock. Keeps
// errno. Threads: any.
void capture_python(Stack& stack, std::size_t max_depth) noexcept;

}  // namespace vramscope
