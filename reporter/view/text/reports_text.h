// The functions here say which of several reports is meant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reporter/view/text/csv_text.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {

struct Report;

// "train, rank 3 (4711): vramscope.train.4711.json", in bold.
[[nodiscard]] std::string heading_text(const Report& report, std::string_view path,
                                       const Page& page);
// Appends the members file, pid, rank and executable.
void which_report(JsonText& json, const Report& report, std::string_view path);
// The columns file, pid and rank.
[[nodiscard]] CsvText::Leading leading_cells(const Report& report, const std::string& path);

}  // namespace vramscope
