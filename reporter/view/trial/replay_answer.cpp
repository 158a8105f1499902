// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/replay_answer.h"

#include <utility>

namespace vramscope {
namespace {

// What does not fit is played again on devices without end, so that its figures are of a whole run.
void play_without_end(const TrialSteps& trace, std::vector<ReplayRow>& rows,
                      const TellShare& tell) {
  std::vector<TrialSettings> settings;
  std::vector<ReplayRow*> again;
  for (ReplayRow& row : rows) {
    if (!row.result.refusal) continue;
    row.refusal = row.result.refusal;
    settings.push_back(row.row.settings);
    settings.back().capacity.fill(kMostCapacity);
    settings.back().memory_limit.fill(0);
    again.push_back(&row);
  }
  if (again.empty()) return;
  std::vector<TrialResult> results = play_all(trace, settings, tell);
  for (std::size_t i = 0; i < again.size(); ++i) again[i]->result = std::move(results[i]);
}

}  // namespace

ReplayAnswer replay_trace(const TrialSteps& trace, std::vector<TrialRow> rows,
                          const TellShare& tell) {
  std::vector<TrialResult> results = play_all(trace, settings_of(rows), tell);
  ReplayAnswer answer;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    answer.rows.push_back({.row = std::move(rows[i]), .result = std::move(results[i])});
    const ReplayRow& last = answer.rows.back();
    if (last.row.is_recorded && !trace.segments.empty()) {
      answer.is_as_recorded = last.result.is_as_recorded;
    }
  }
  play_without_end(trace, answer.rows, tell);
  return answer;
}

}  // namespace vramscope
