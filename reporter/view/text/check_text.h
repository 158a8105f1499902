// check_text() says which checks do not hold, and whose memory it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/text/checks.h"

namespace vramscope {

[[nodiscard]] Columns<Check> check_columns(const std::string& file);

// One line where everything holds, after one for each of the first processes whose memory ran out.
// Of several processes that do not all pass, a line says first how many failed. most: sites of each
// check, 0 for all; fewer where many fail, unless it was `typed`.
[[nodiscard]] Document check_text(const std::vector<Checked>& all, const Page& page,
                                  std::size_t most, bool typed);
[[nodiscard]] Columns<std::vector<Checked>> check_fields(std::size_t most);
[[nodiscard]] std::string check_json(const std::vector<Checked>& all, std::size_t most);
// A row for each check.
void add_check_csv(CsvText& csv, const std::vector<Checked>& all);

}  // namespace vramscope
