// Executable is a program's file, as far as it shows why a profiler cannot be loaded into it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct Executable {
  std::string path;     // "": no file has that name
  bool elf = false;     // else a script, or an unknown format
  bool native = true;   // for the tool's own machine, 64 bits
  bool narrow = false;  // for x86, 32 bits
  std::string loader;   // the loader that it asks for; "": linked statically
};

// Returns the file that a shell would run for `name`.
[[nodiscard]] Executable find_executable(const std::string& name);

// Returns why the loader grants the program more rights than its caller has, so that it preloads
// nothing: "is set-user-id". Returns "" if it does not.
[[nodiscard]] std::string more_rights(const std::string& path);

// Returns why the library is inactive in a program into which it is loaded, and what helps, or ""
// if it is active.
[[nodiscard]] std::string why_inactive(const std::string& name);

// Returns one line on why the program never ran with the library loaded, or "" if it may have.
// Starts nothing. status: the program's exit status; the loader ends a program that it refuses with
// 127.
[[nodiscard]] std::string why_not_loaded(const std::string& name, int status);

// Returns one line on why the system did not start it, if more is known than errno says, or "".
[[nodiscard]] std::string why_not_started(const std::string& name);

// Returns whether the file's system forbids executing its files and loading them into programs.
[[nodiscard]] bool is_on_noexec(const std::string& path);

}  // namespace vramscope
