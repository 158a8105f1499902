// owners_text() shows whose the memory of each GPU is; axis_text() the same bytes by thread,
// stream, range, function or size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "reporter/record/axes.h"
#include "reporter/view/text/columns.h"
#include "reporter/view/text/format.h"

namespace vramscope {

struct AxisEntry;
struct LedgerEntry;
struct Report;

// "owner", "thread", "stream", "range", "function", "size".
[[nodiscard]] std::optional<Axis> axis_named(std::string_view name);

[[nodiscard]] Columns<LedgerEntry> ledger_columns();
[[nodiscard]] Columns<AxisEntry> axis_columns();

// Each text and JSON ends with a newline.
[[nodiscard]] std::string owners_text(const Report& report, const Page& page,
                                      const RowChoice& choice);
[[nodiscard]] std::string owners_json(const Report& report, const RowChoice& choice);
void add_owners_csv(CsvText& csv, const Report& report, const RowChoice& choice);
[[nodiscard]] std::string axis_text(const Report& report, Axis axis, const Page& page,
                                    const RowChoice& choice);
[[nodiscard]] std::string axis_json(const Report& report, Axis axis, const RowChoice& choice);
void add_axis_csv(CsvText& csv, const Report& report, Axis axis, const RowChoice& choice);

}  // namespace vramscope
