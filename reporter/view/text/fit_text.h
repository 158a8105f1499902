// fit_text() shows how small a GPU may be for a run, and which GPUs it fits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/trial/fit_answer.h"

namespace vramscope {

// A trace with what was found of it.
struct Fitted {
  std::string file;
  const TrialSteps& trace;
  const FitAnswer& answer;
};

[[nodiscard]] Columns<FitRow> fit_columns();
// Of the JSON: an object for each trace.
[[nodiscard]] Columns<Fitted> fit_fields(const RowChoice& choice);
// For each of the answer's GPUs: "yes", "with pytorch", "no".
[[nodiscard]] std::vector<std::string> fits_words(const FitAnswer& answer);
// What the recording was refused, or "" first; then what the figures include, and why a replay may
// differ from the run: sentences.
[[nodiscard]] std::vector<std::string> fit_remarks(const Fitted& fitted);
[[nodiscard]] Document fit_text(const Fitted& fitted, const Page& page, const RowChoice& choice);

}  // namespace vramscope
