// replay_trace() says what a trace's program would have taken of its devices under other settings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/trial/trial_rows.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// What the program would have taken under one setting.
struct ReplayRow {
  TrialRow row;
  TrialResult result;                        // where it does not fit: on devices without end
  std::optional<TrialRefusal> refusal = {};  // where it does not fit: the first request refused

  [[nodiscard]] bool fits() const { return !refusal; }
};

struct ReplayAnswer {
  std::vector<ReplayRow> rows;
  // Whether segments came and went as in the recording where its own settings were played; nullopt:
  // they were not played, or the trace has no segments.
  std::optional<bool> is_as_recorded = {};
};

// The devices have the capacities of the rows' settings. May throw bad_alloc.
[[nodiscard]] ReplayAnswer replay_trace(const TrialSteps& trace, std::vector<TrialRow> rows,
                                        const TellShare& tell);

}  // namespace vramscope
