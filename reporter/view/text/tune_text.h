// tune_text() shows what settings of the allocator save and cost, and the ones to set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/trial/tune_answer.h"

namespace vramscope {

// Traces with what was found of them.
struct Tuned {
  std::vector<std::string> files;
  const std::vector<TrialSteps>& traces;
  const TuneAnswer& answer;
  CallCosts costs;
};

// The rows that a text shows: the recording's, those that somebody typed, those that are proposed,
// and those on the edge of what is saved and what it costs.
[[nodiscard]] std::vector<TuneRow> shown_rows(const TuneAnswer& answer);

[[nodiscard]] Columns<TuneRow> tune_columns(const CallCosts& costs = {});
[[nodiscard]] Columns<Tuned> tune_fields(const RowChoice& choice);
[[nodiscard]] Document tune_text(const Tuned& tuned, const Page& page, const RowChoice& choice);

}  // namespace vramscope
