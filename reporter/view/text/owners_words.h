// What the words for owners of a GPU's memory mean that no call of the program explains.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// A paragraph for each that is among the rows.
[[nodiscard]] Document owners_words(const Report& report, const std::vector<LedgerEntry>& rows);

}  // namespace vramscope
