// What fit shows of runs beside the least memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/command/progress.h"
#include "reporter/view/command/trial_input.h"
#include "reporter/view/trial/fit_answer.h"

namespace vramscope {

// Finds how small a GPU may be for a trace, under the settings that were typed or the usual ones;
// or a line that says what is wrong with them. since: when somebody began to wait.
struct FoundFit {
  FitAnswer answer = {};
  std::string problem = {};
};
[[nodiscard]] FoundFit fit_of(TrialSteps& trace, const TrialOptions& options,
                              ProgressLine::Clock::time_point since);

// fit --phase NAME: how memory depends on the repetition of a range or a mark. Gives the exit code.
[[nodiscard]] int show_phases(TrialArguments& given, const std::string& name);

// fit --scale batch=2,4,8 --at 16,32: how memory depends on a number of the runs. "": not typed.
struct ScaleWish {
  std::string scale = {};
  std::string at = {};
};
inline constexpr std::size_t kScaleRows = 20;  // of a text, unless -n says otherwise
[[nodiscard]] int show_scale(TrialArguments& given, const ScaleWish& wish);
// Checks of what was typed: "", or why it is none.
[[nodiscard]] std::string no_scale(const std::string& given);
[[nodiscard]] std::string no_numbers(const std::string& given);

}  // namespace vramscope
