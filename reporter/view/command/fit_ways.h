// What fit shows of runs beside the least memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/command/trial_input.h"

namespace vramscope {

// fit --phase NAME: how memory depends on the repetition of a range or a mark. Gives the exit code.
[[nodiscard]] int show_phases(TrialArguments& given, const std::string& name);

}  // namespace vramscope
