// examine_script() follows a script to the program that executes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/view/doctor/finding.h"
#include "reporter/view/system/executable.h"

namespace vramscope {

// Returns the interpreter in the script's first line (after `env`, the program that env starts), or
// `script` itself if it has no such line. If the interpreter does not exist, returns an empty path
// and adds a finding. Adds a finding, too, if a line of the script removes our library.
[[nodiscard]] Executable examine_script(const Executable& script, Findings& findings);

}  // namespace vramscope
