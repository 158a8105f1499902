// examine_script() follows a script to the program that executes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/view/doctor/finding.h"
#include "reporter/view/system/executable.h"

namespace vramscope {

// The interpreter of the script's first line, behind `env` the one that this starts; `script`
// itself when it has no such line; an empty path when there is none that could be looked at, which
// is then found. A line of it that takes our library away is found too.
[[nodiscard]] Executable examine_script(const Executable& script, Findings& findings);

}  // namespace vramscope
