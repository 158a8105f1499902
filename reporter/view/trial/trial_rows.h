// A TrialRow is one setting under which a trace is replayed, by the words that people set it with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/view/trial/trial.h"

namespace vramscope {

struct TrialRow {
  Mode mode = Mode::cache;  // cache, dedicated or observe
  Policy policy = Policy::native_safe;
  std::string alloc_conf = {};
  bool is_recorded = false;  // as the program ran
  TrialSettings settings = {};
};

// What was typed; what is empty is as in the recording, except for alloc_conf where a policy is
// typed.
struct TypedRow {
  std::string mode = {};
  std::string policy = {};
  std::optional<std::string> alloc_conf = {};
};

// A row, or why there is none: one line. Its devices have the capacity that the recording had, or
// kMostCapacity where the trace does not say. May throw bad_alloc, as all of this file.
struct MadeRow {
  std::optional<TrialRow> row = {};
  std::string problem = {};
};
[[nodiscard]] MadeRow make_row(const TrialSteps& trace, const TypedRow& typed);

// Whether both serve every request alike.
[[nodiscard]] bool is_same_setting(const TrialRow& a, const TrialRow& b);

// The settings of each row, in their order.
[[nodiscard]] std::vector<TrialSettings> settings_of(const std::vector<TrialRow>& rows);

// The recording's own settings.
[[nodiscard]] MadeRow recorded_row(const TrialSteps& trace);

// The recording's own settings, and then those that most programs may choose, each once.
[[nodiscard]] std::vector<TrialRow> usual_rows(const TrialSteps& trace);

}  // namespace vramscope
