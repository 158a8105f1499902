// timeline_text() draws how much of each kind of memory was allocated over time, timeline_json()
// lists it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/text/format.h"

namespace vramscope {

struct Report;

// Each text and JSON ends with a newline. most: rows, 0 for all.
[[nodiscard]] std::string timeline_text(const Report& report, const Page& page, std::size_t most);
[[nodiscard]] std::string timeline_json(const Report& report, std::size_t most);

}  // namespace vramscope
