// tried_text() says what would have served a refused request, by replay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/trial/refusal_trial.h"

namespace vramscope {

// Of the JSON of oom.
[[nodiscard]] Columns<RefusalTrial> tried_fields();
// Below an empty line.
[[nodiscard]] Document tried_text(const RefusalTrial& trial, const std::string& trace);

}  // namespace vramscope
