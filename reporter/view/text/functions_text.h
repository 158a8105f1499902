// functions_text() lists the driver functions that the library intercepts, from
// interpose/table/functions.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/text/format.h"

namespace vramscope {

// At most `most` rows; 0: all.
[[nodiscard]] std::string functions_text(const Page& page, std::size_t most);
[[nodiscard]] std::string functions_json(std::size_t most);

}  // namespace vramscope
