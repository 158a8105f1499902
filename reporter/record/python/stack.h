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
  std::uint32_t frame_bytes = 0;     // bytes of a frame, up to its last member that is read
  std::uint32_t code_bytes = 0;      // bytes of a code object, up to its last member that is read
  TextRange loop;  // the evaluation loop; if empty, it is not known and Python frames follow all
                   // native ones
};

enum class PythonState : std::uint8_t {
  none,     // the process has no interpreter, or Python frames are not wanted
  unknown,  // the layout of its version is not known
  read,
};

// Looks for an interpreter, whose frames are read from now on. library: the path of a loaded
// libpython whose symbols are not visible to all, or "". A found interpreter stays loaded, and no
// other is looked for. Sets `version` to its version. Threads: one at a time, without locks.
PythonState open_python(DlsymFunction real_dlsym, const std::string& library,
                        std::string& version) noexcept;

// Sets frame_bytes and code_bytes from the layout. Returns false if a structure is larger than any
// real one.
[[nodiscard]] bool set_sizes(PythonInterpreter& interpreter) noexcept;

// Returns the interpreter that open_python() found, or null. It never changes again. Threads: any.
[[nodiscard]] const PythonInterpreter* python() noexcept;

// For tests: reads the frames of this interpreter from now on; null: of none.
void use_python(const PythonInterpreter* interpreter) noexcept;

// Adds at most `max_depth` Python frames of the calling thread to the stack, innermost first. Adds
// none for a thread without Python frames and while the interpreter ends. Memory that cannot be
// read ends the walk. Takes no lock, allocates nothing, works with and without the interpreter's
// lock, and keeps errno. Threads: any.
void capture_python(Stack& stack, std::size_t max_depth) noexcept;

}  // namespace vramscope
