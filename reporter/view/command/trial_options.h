// TrialOptions are the words that say under which settings a trace is replayed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/command/verb.h"
#include "reporter/view/trial/trial_rows.h"

namespace vramscope {

struct TrialOptions {
  std::vector<std::string> modes;
  std::vector<std::string> policies;
  std::vector<std::string> alloc_confs;
  std::string capacity;
  std::string call_costs;
};

// --mode, --policy and --alloc-conf.
void add_trial_options(Command& command, TrialOptions& options);
// --capacity and --call-costs.
void add_replay_options(Command& command, TrialOptions& options);

// Of tune: --alloc-conf, to try it whatever it is worth.
void add_tune_options(Command& command, TrialOptions& options);

// Whose calls a replay's time is made of; h200 where nothing was typed.
[[nodiscard]] CallCosts costs_for(const TrialSteps& trace, const TrialOptions& options);
// Gives the row the capacity and the costs that were typed.
void adjust_row(const TrialOptions& options, const CallCosts& costs, TrialRow& row);

// Each of the modes with each policy and each setting; the usual ones where none was typed. Or one
// line that says what is wrong. Learns trace.others.
struct MadeRows {
  std::vector<TrialRow> rows;
  CallCosts costs;
  std::string problem;
};
[[nodiscard]] MadeRows make_rows(TrialSteps& trace, const TrialOptions& options);

}  // namespace vramscope
