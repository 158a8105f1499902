// axis_text() shows what was allocated by thread, stream, range, call or size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reporter/base/axes.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct AxisEntry;
struct Report;
class ThreadNames;

// "owner", "thread", "stream", "range", "call", "size". A call is a function of CUDA's driver,
// which reports name by their axis of functions: functions are the program's to who looks at them.
[[nodiscard]] std::optional<Axis> axis_named(std::string_view name);

// threads: where those began; null: that is not told. The report outlives them.
[[nodiscard]] Columns<AxisEntry> axis_columns(const Report& report, Axis axis,
                                              const ThreadNames* threads = nullptr,
                                              const Page& page = {});

// Each text and JSON ends with a newline.
[[nodiscard]] Document axis_text(const Report& report, Axis axis, const NameFrame& name,
                                 const Page& page, const RowChoice& choice);
[[nodiscard]] std::string axis_json(const Report& report, Axis axis, const NameFrame& name,
                                    const RowChoice& choice);
void add_axis_csv(CsvText& csv, const Report& report, Axis axis, const NameFrame& name,
                  const RowChoice& choice);

}  // namespace vramscope
