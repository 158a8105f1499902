// Where the loader would find libraries, by reading files alone: nothing is loaded or executed. A
// loader that is asked (ld.so --list) runs what the file names in DT_AUDIT, and each file names a
// loader of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// What starts programs on this machine: the loader of the C library that the tool is for.
[[nodiscard]] bool is_system_loader(const std::string& loader);

// What the loader would say of a program, or a library. Both "": it would be loaded.
struct LoaderAnswer {
  std::string refusal = {};  // one line: a library, or a version in one, that is not there
  std::string unknown = {};  // one line on why that cannot be told
};

// Of a program, and the loader that it asks for: where that is not the system's it may look
// elsewhere, and nothing is known. Ends after kSearchSeconds, whatever the files are. Threads: one,
// the only one of the process.
[[nodiscard]] LoaderAnswer ask_by_reading(const std::string& program, const std::string& loader);
inline constexpr unsigned kSearchSeconds = 20;

// Where the loader finds a library of that name, or path, with all that it needs; "": nowhere.
[[nodiscard]] std::string found_by_loader(const std::string& library);

}  // namespace vramscope
