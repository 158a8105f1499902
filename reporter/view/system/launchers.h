// starts_elsewhere() says what a launcher of other machines' processes needs, as run's PROGRAM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/report/launcher.h"

namespace vramscope {

// One line if the program starts processes on other machines or later, where a `run` in front of it
// does not reach them, or "". `program`: the words that run was given behind its options.
[[nodiscard]] std::string starts_elsewhere(const std::vector<std::string>& program);

// The place of this process in a job whose ranks share its terminal, of which there are several;
// else no place.
[[nodiscard]] JobPlace place_among_ranks();

}  // namespace vramscope
