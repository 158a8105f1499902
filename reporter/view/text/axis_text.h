// axis_text() shows what was allocated by thread, stream, range, function or size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reporter/record/axes.h"
#include "reporter/view/text/columns.h"
#include "reporter/view/text/format.h"

namespace vramscope {

struct AxisEntry;
struct Report;

// "owner", "thread", "stream", "range", "function", "size".
[[nodiscard]] std::optional<Axis> axis_named(std::string_view name);

[[nodiscard]] Columns<AxisEntry> axis_columns();

// Each text and JSON ends with a newline.
[[nodiscard]] std::string axis_text(const Report& report, Axis axis, const Page& page,
                                    const RowChoice& choice);
[[nodiscard]] std::string axis_json(const Report& report, Axis axis, const RowChoice& choice);
void add_axis_csv(CsvText& csv, const Report& report, Axis axis, const RowChoice& choice);

}  // namespace vramscope
