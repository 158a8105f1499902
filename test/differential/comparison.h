// Whether a program could tell: its results with us against those without, and our reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "test/differential/server.h"

namespace vramscope::differential {

// What a mode changes by design: the only differences that are none. `readme`: the words of the
// page that say so; a test looks for them there.
struct Rule {
  const char* name;
  const char* readme;
};
inline constexpr Rule kRules[] = {
    {"free memory",
     "Some of the memory that it freed stays reserved, but counts as free in `cudaMemGetInfo`."},
    {"addresses come back elsewhere", "Some of the memory that it freed stays reserved"},
    {"parts of segments stay here", "A block that is not a whole segment cannot be exported"},
    {"exports are whole segments",
     "The process that opens it sees the whole segment, up to 2 MiB more"},
    {"errors show later", "A device error appears at the next wait or the 64th allocation"},
};

// One text a difference, none when the program cannot tell.
[[nodiscard]] std::vector<std::string> differences(const Sequence& sequence, const Run& native,
                                                   const Run& ours,
                                                   const Configuration& configuration);

}  // namespace vramscope::differential
