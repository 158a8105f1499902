// functions_text() lists the driver functions that the library intercepts, from
// interpose/table/functions.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

[[nodiscard]] std::string functions_text(const Page& page, const RowChoice& choice);
[[nodiscard]] std::string functions_json(const RowChoice& choice);
void add_functions_csv(CsvText& csv, const RowChoice& choice);
[[nodiscard]] std::vector<std::string> function_columns();

}  // namespace vramscope
