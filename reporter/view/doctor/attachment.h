// why_not_attachable() says beforehand whether `vramscope attach` can work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "reporter/view/doctor/process_files.h"

namespace vramscope {

// Returns one line on why the library cannot be loaded into the process now, and what to do; "": it
// can, unless all its threads are busy. Stops nothing. May throw bad_alloc.
[[nodiscard]] std::string why_not_attachable(pid_t pid, const ProcessFiles& process);

// Returns why no loader takes a library into a program of that file, such as "is linked
// statically";
// "": it may. path: of the program.
[[nodiscard]] std::string why_not_by_file(const std::string& path);

// Returns whether list, live and the other verbs see the process. May throw bad_alloc.
[[nodiscard]] bool is_recorded(pid_t pid);

}  // namespace vramscope
