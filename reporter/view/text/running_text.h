// running_text() lists the processes that are recorded now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/running_program.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

[[nodiscard]] Columns<RunningProgram> running_columns();

// Ends with a newline.
[[nodiscard]] std::string running_text(const std::vector<RunningProgram>& programs,
                                       const Page& page);

}  // namespace vramscope
