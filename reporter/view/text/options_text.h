// The settings of the library as lists for people, from interpose/settings/options.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/text/format.h"

namespace vramscope {

// At most `most` rows; 0: all.
[[nodiscard]] std::string options_text(const Page& page, std::size_t most);
[[nodiscard]] std::string options_json(std::size_t most);

// The table that README.md shows.
[[nodiscard]] std::string options_markdown(std::size_t most);

}  // namespace vramscope
