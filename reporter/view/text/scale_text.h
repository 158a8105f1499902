// scale_text() shows how the memory of runs depends on a number of theirs, and what others would
// take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/batch_scale.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// Traces with what was found of them.
struct Scaled {
  std::vector<std::string> files;
  std::string what;  // the number's name: "batch"
  const ScaleAnswer& answer;
};

[[nodiscard]] Columns<ScaleRow> scale_columns(const std::string& what = "batch");
// Of the JSON: one object.
[[nodiscard]] Columns<Scaled> scale_fields(const RowChoice& choice);
[[nodiscard]] Document scale_text(const Scaled& scaled, const Page& page, const RowChoice& choice);

}  // namespace vramscope
