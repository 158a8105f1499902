// Executable is a program's file, as far as it tells why a profiler cannot be loaded into it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct Executable {
  std::string path;     // "": there is none of that name
  bool elf = false;     // else a script, or nothing that is known here
  bool native = true;   // for the machine that the tool is for, with 64 bits
  bool narrow = false;  // for x86, with 32 bits
  std::string loader;   // that it asks for; "": it is linked statically
};

// The file that a shell would run for `name`.
[[nodiscard]] Executable find_executable(const std::string& name);

// Why the loader takes it for one with more rights than who starts it, and preloads nothing into
// it: "is set-user-id"; "" when it does not.
[[nodiscard]] std::string more_rights(const std::string& path);

// Why the library does nothing in a program that it is loaded into, and what helps; "" when it
// works.
[[nodiscard]] std::string why_inactive(const std::string& name);

// One line on why the program never ran as one that the library is loaded into; "" when it may
// have. Starts nothing. status: the program's exit status; the loader ends a program that it
// refuses with 127.
[[nodiscard]] std::string why_not_loaded(const std::string& name, int status);

// One line on why the system did not start it, more than what errno says; "" when there is no more.
[[nodiscard]] std::string why_not_started(const std::string& name);

// Whether nothing on the file's system may be executed, or loaded into a program.
[[nodiscard]] bool is_on_noexec(const std::string& path);

}  // namespace vramscope
