// peak_text() shows what made the peak of each kind of memory: when, by whom, and what was live
// then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// Each text and JSON ends with a newline. What is chosen are rows of each kind.
[[nodiscard]] std::string peak_text(const Report& report, const NameFrame& name, const Page& page,
                                    const RowChoice& choice);
[[nodiscard]] std::string peak_json(const Report& report, const NameFrame& name,
                                    const RowChoice& choice);
// What was live at the peak of each kind.
void add_peak_csv(CsvText& csv, const Report& report, const NameFrame& name,
                  const RowChoice& choice);

}  // namespace vramscope
