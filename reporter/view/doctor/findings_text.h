// findings_text() lists what doctor found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/doctor/finding.h"
#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// A table, and a line that says how many of them stop or limit recording.
[[nodiscard]] std::string findings_text(const Findings& findings, const Page& page,
                                        const RowChoice& choice);
[[nodiscard]] std::string findings_json(const Findings& findings, const RowChoice& choice);
void add_findings_csv(const Findings& findings, CsvText& csv, const RowChoice& choice);
[[nodiscard]] std::vector<std::string> finding_columns();

}  // namespace vramscope
