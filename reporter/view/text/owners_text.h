// owners_text() shows whose the memory of each GPU is; axis_text() the same bytes by thread,
// stream, range, function or size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/record/axes.h"
#include "reporter/view/text/format.h"

namespace vramscope {

struct Report;

// "owner", "thread", "stream", "range", "function", "size".
[[nodiscard]] std::optional<Axis> axis_named(std::string_view name);

// Each text and JSON ends with a newline. most: rows, 0 for all.
[[nodiscard]] std::string owners_text(const Report& report, const Page& page, std::size_t most);
[[nodiscard]] std::string owners_json(const Report& report, std::size_t most);
[[nodiscard]] std::string axis_text(const Report& report, Axis axis, const Page& page,
                                    std::size_t most);
[[nodiscard]] std::string axis_json(const Report& report, Axis axis, std::size_t most);

}  // namespace vramscope
