// calls_text() lists the program's calls of the driver: how often, how long, how much of it
// waiting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

#define VRAMSCOPE_CALL_AXES(X) X(function) X(thread)
VRAMSCOPE_NAMED_ENUM(CallsBy, std::uint8_t, VRAMSCOPE_CALL_AXES);

// What of a report, or of its trace, is listed.
struct CallsOf {
  const Report& report;
  DriverCalls calls;
  CallsBy by = CallsBy::function;
  bool is_of_trace = false;
  const NameFrame& name;  // of where threads began
};

// Of the rows. threads: of the report; null: no texts are made.
[[nodiscard]] Columns<DriverCall> call_columns(const CallsOf& of, const ThreadNames* threads,
                                               const Page& page = {});
// What calls_json() writes.
[[nodiscard]] Columns<DriverCalls> calls_fields(const CallsOf& of, const RowChoice& choice);

// Ends with a newline.
[[nodiscard]] Document calls_text(const CallsOf& of, const Page& page, const RowChoice& choice);
[[nodiscard]] std::string calls_json(const CallsOf& of, const RowChoice& choice);
void add_calls_csv(CsvText& csv, const CallsOf& of, const RowChoice& choice);

}  // namespace vramscope
