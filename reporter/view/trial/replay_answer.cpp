// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/replay_answer.h"

#include <utility>

namespace vramscope {
ReplayAnswer replay_trace(const TrialSteps& trace, std::vector<TrialRow> rows,
                          const TellShare& tell) {
  const std::vector<TrialSettings> settings = settings_of(rows);
  std::vector<TrialResult> results = play_all(trace, settings, tell);
  ReplayAnswer answer;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_recorded && !trace.segments.empty()) {
      answer.is_as_recorded = results[i].is_as_recorded;
    }
  }
  const auto refusals = play_refused_again(trace, settings, results, tell);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    answer.rows.push_back(
        {.row = std::move(rows[i]), .result = std::move(results[i]), .refusal = refusals[i]});
  }
  return answer;
}

}  // namespace vramscope
