// note_free_before() tells the processes of a run how much memory of the GPUs was free before they
// had contexts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// With this value the library knows what the first context takes. NVML takes tens of milliseconds
// to start, so a thread that receives no signals asks it while the program starts. Its answer
// becomes a line of the note (kFreeNote), which is locked until then. If NVML is missing, what the
// context takes counts as used by others. note: the path of a NoteFile, or ""; nvml: the library to
// ask.
void note_free_before(const std::string& note, const std::string& nvml);

// Returns whether NVML has not answered yet. To end this process then, do not wait for it, and do
// not run the exit functions of libraries.
[[nodiscard]] bool is_nvml_asked() noexcept;

}  // namespace vramscope
