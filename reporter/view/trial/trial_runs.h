// play_all() plays one trace under several settings, each on a core of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "reporter/view/trial/trial.h"

namespace vramscope {

// How far several replays are.
struct TrialShare {
  std::uint64_t steps = 0;  // that were played
  std::uint64_t of = 0;     // all steps
  std::uint64_t ns = 0;     // since the first one
};
// Is told of it every tenth of a second and at the end, on the calling thread.
using TellShare = std::function<void(const TrialShare&)>;

// The results are in the order of the settings. May throw bad_alloc, after all threads have ended.
[[nodiscard]] std::vector<TrialResult> play_all(const TrialSteps& steps,
                                                const std::vector<TrialSettings>& settings,
                                                const TellShare& tell);

// The settings on devices that refuse nothing for want of memory.
[[nodiscard]] TrialSettings without_end(TrialSettings settings);

// Plays again, on devices without end, what was refused a request: its figures are then of a whole
// run. Puts the new results in place of the old ones, and returns the requests that were refused,
// for each of the settings. May throw as play_all() does.
[[nodiscard]] std::vector<std::optional<TrialRefusal>> play_refused_again(
    const TrialSteps& steps, const std::vector<TrialSettings>& settings,
    std::vector<TrialResult>& results, const TellShare& tell);

}  // namespace vramscope
