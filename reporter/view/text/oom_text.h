// oom_text() tells of allocations that failed because memory ran out: what was asked for, who held
// the memory, what stood in the way, and what would help.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/text/format.h"
#include "reporter/view/text/frames.h"

namespace vramscope {

struct Report;

// Each text and JSON ends with a newline. most: rows of each table, 0 for all.
[[nodiscard]] std::string oom_text(const Report& report, const NameFrame& name, const Page& page,
                                   std::size_t most);
[[nodiscard]] std::string oom_json(const Report& report, const NameFrame& name, std::size_t most);

// "300 MiB of GPU 0 refused to main (a.cpp:12), 124 MiB free": the last one; "" when memory never
// ran out.
[[nodiscard]] std::string oom_line(const Report& report, const NameFrame& name);

}  // namespace vramscope
