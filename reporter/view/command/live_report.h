// report_of_live_file() is what `recover` and the verbs that show a report make of a live file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "reporter/report/live/recover_file.h"

namespace vramscope {

// Of a process that still runs.
struct AskFirst {
  unsigned wait_seconds = 10;  // for its answer; 0: it is not asked
  std::string output = {};  // where a report goes; "": under its usual name. It is not asked then
};

// The report of the dead process is recovered; a living one is asked for a report, and where it
// does not answer its tables are copied as they are. `tell` is told what a person would not expect.
[[nodiscard]] Recovery report_of_live_file(const std::string& path, const AskFirst& how,
                                           const std::function<void(std::string_view)>& tell);

}  // namespace vramscope
