// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/refusal_trial.h"

#include <algorithm>
#include <utility>

#include "reporter/view/trial/fit_answer.h"

namespace vramscope {
namespace {

using What = TrialStep::What;

bool is_refused(const TrialStep& step) {
  return step.what == What::refused || step.what == What::refused_by_driver;
}

// What the program did until then; the request comes last, as if it had been served.
void cut_behind(TrialSteps& trace, std::size_t refused) {
  trace.steps.resize(refused + 1);
  TrialStep& last = trace.steps.back();
  last.what = last.what == What::refused ? What::allocated : What::came;
  last.slot = trace.slots++;
}

Tried tried_by(const TrialResult& result, std::size_t refused) {
  if (!result.refusal) return Tried::served;
  return result.refusal->step < refused ? Tried::refused_earlier : Tried::refused;
}

}  // namespace

std::optional<RefusalTrial> try_refusal(TrialSteps trace, const TellShare& tell) {
  const MadeRow recorded = recorded_row(trace);
  if (!recorded.row) return std::nullopt;
  learn(trace, recorded.row->settings);
  const auto found = std::ranges::find_if(trace.steps, is_refused);
  if (found == trace.steps.end()) return std::nullopt;
  const auto refused = static_cast<std::size_t>(found - trace.steps.begin());
  RefusalTrial trial{.at_ns = found->at_ns,
                     .bytes = found->bytes,
                     .place = trace.places[found->place],
                     .rows = {}};
  cut_behind(trace, refused);
  std::vector<TrialRow> rows = usual_rows(trace);
  const std::vector<TrialResult> results = play_all(trace, settings_of(rows), tell);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    trial.rows.push_back({std::move(rows[i]), tried_by(results[i], refused)});
  }
  const TrialRow& own = trial.rows.front().row;
  if (trial.rows.front().tried != Tried::refused) return std::nullopt;
  const std::uint16_t device = trial.place.device;
  if (own.settings.memory_limit[device] != 0) {
    trial.least_limit_bytes = least_memory(trace, own, Sought::memory_limit, tell);
  } else if (const auto least = least_memory(trace, own, Sought::capacity, tell)) {
    trial.more_bytes = *least - std::min(*least, own.settings.capacity[device]);
  }
  return trial;
}

}  // namespace vramscope
