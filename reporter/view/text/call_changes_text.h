// call_changes_text() shows how the driver calls of two runs differ.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// Two runs, the files as typed.
struct CallsOfTwo {
  std::string before_file = {};
  std::string after_file = {};
  DriverCalls before = {};
  DriverCalls after = {};
  std::vector<CallChange> rows = {};
};

[[nodiscard]] Columns<CallChange> call_change_columns();
// What the JSON has.
[[nodiscard]] Columns<CallsOfTwo> call_changes_fields(std::size_t most);
[[nodiscard]] Document call_changes_text(const CallsOfTwo& two, const Page& page, std::size_t most);

// "driver calls  145 ms -> 885 ms: vramscope diff --by call"; "": about as before. Times of two
// runs of one program differ by a little.
[[nodiscard]] std::string calls_changed_text(const DriverCalls& before, const DriverCalls& after);

}  // namespace vramscope
