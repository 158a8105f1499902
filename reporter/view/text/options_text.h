// The settings of the library as lists for people, from interpose/settings/options.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

[[nodiscard]] Columns<OptionRow> option_columns();
[[nodiscard]] std::string options_text(const std::vector<OptionRow>& rows, const Page& page);

// The table that README.md shows.
[[nodiscard]] std::string options_markdown(const std::vector<OptionRow>& rows);

}  // namespace vramscope
