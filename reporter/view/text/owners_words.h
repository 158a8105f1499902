// What the words for owners of a GPU's memory mean that no call of the program explains.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// A paragraph for each that is among the rows.
[[nodiscard]] std::string owners_words(const Report& report, const std::vector<LedgerEntry>& rows,
                                       const Page& page);

}  // namespace vramscope
