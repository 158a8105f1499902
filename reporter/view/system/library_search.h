// found_by_loader() finds libraries as the loader would, but only by reading files: nothing is
// loaded or executed. If the loader were asked (ld.so --list), it would run what the file names in
// DT_AUDIT, and each file names a loader of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// Returns whether it is the loader that starts programs on this machine: that of the C library for
// which the tool was built.
[[nodiscard]] bool is_system_loader(const std::string& loader);

// The loader's presumed answer about a program or library. Both "": it would be loaded.
struct LoaderAnswer {
  std::string refusal = {};  // one line: a library, or a version in one, that is missing
  std::string unknown = {};  // one line: why the answer is not known
};

// Answers for a program and the loader that it asks for. Another loader than the system's may
// search elsewhere, so then nothing is known. Ends after kSearchSeconds, whatever the files are.
// Threads: one, the only one of the process.
[[nodiscard]] LoaderAnswer ask_by_reading(const std::string& program, const std::string& loader);
inline constexpr unsigned kSearchSeconds = 20;

// Returns where the loader finds a library of that name or path with everything that it needs, or
// "".
[[nodiscard]] std::string found_by_loader(const std::string& library);

}  // namespace vramscope
