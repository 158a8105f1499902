// The settings of the library as lists for people, from interpose/settings/options.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

[[nodiscard]] std::string options_text(const Page& page, const RowChoice& choice);
[[nodiscard]] std::string options_json(const RowChoice& choice);
void add_options_csv(CsvText& csv, const RowChoice& choice);
[[nodiscard]] std::vector<std::string> option_columns();

// The table that README.md shows.
[[nodiscard]] std::string options_markdown(const RowChoice& choice);

}  // namespace vramscope
