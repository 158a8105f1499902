// peak_text() shows what made the peak of each kind of memory: when, by whom, and what was live
// then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/text/format.h"
#include "reporter/view/text/frames.h"

namespace vramscope {

struct Report;

// Each text and JSON ends with a newline. most: rows of each kind, 0 for all.
[[nodiscard]] std::string peak_text(const Report& report, const NameFrame& name, const Page& page,
                                    std::size_t most);
[[nodiscard]] std::string peak_json(const Report& report, const NameFrame& name, std::size_t most);

}  // namespace vramscope
