// note_free_before() tells the processes of a run what was free of the GPUs before they had
// contexts there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// With it the library tells what the first context takes. NVML takes tens of milliseconds to start:
// a thread of its own asks it, which takes no signals, while the program starts. Its answer becomes
// a line of the note (kFreeNote), which is locked until then. NVML may be missing; then what the
// context takes counts with what others use. `note`: the path of a NoteFile, "" when there is none;
// `nvml`: the library to ask.
void note_free_before(const std::string& note, const std::string& nvml);

// NVML has not answered yet. Who ends this process now neither waits for it nor runs what ends
// libraries.
[[nodiscard]] bool is_nvml_asked() noexcept;

}  // namespace vramscope
