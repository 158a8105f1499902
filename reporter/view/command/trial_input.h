// open_trial() reads what a word of the command line names into the steps of a replay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "reporter/view/trial/trial_steps.h"

namespace vramscope {

// A trace of ours, or another tool's file of a run. Says in one line why there is none.
[[nodiscard]] std::optional<TrialSteps> open_trial(const std::string& path);

}  // namespace vramscope
