// phase_text() shows how the memory of a run depends on the repetition of one of its parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/trial/phase_answer.h"
#include "reporter/view/trial/phase_finder.h"

namespace vramscope {

// A phase of a trace with what was found of it.
struct FollowedPhase {
  std::string file;
  const TrialPhase& phase;
  const TrialRow& row;  // the settings
  const TrialSteps& trace;
  const PhaseAnswer& answer;
  bool is_context_assumed = false;
};

[[nodiscard]] Columns<PhaseRow> phase_columns();
// Of the JSON: an object for each trace.
[[nodiscard]] Columns<FollowedPhase> phase_fields(const RowChoice& choice);
[[nodiscard]] Document phase_text(const FollowedPhase& followed, const Page& page,
                                  const RowChoice& choice);

}  // namespace vramscope
