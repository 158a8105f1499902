// findings_text() lists what doctor found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/doctor/finding.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

// Makes a table, and a line that says how many findings stop or limit recording.
[[nodiscard]] Columns<Finding> finding_columns();
[[nodiscard]] std::string findings_text(const Findings& all, const std::vector<Finding>& shown,
                                        const Page& page);

}  // namespace vramscope
