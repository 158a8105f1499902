// What the library tells the `vramscope run` that started the program: see kNoteVariable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// Where a report is, or kReportFailed. Without a `run`, and where the program has given up the
// rights for it, none of these does anything. Threads: any. May throw bad_alloc.
void note_report(const std::string& path);
void note_trace(const std::string& path);
// Where the live file is, and the report for which it stands from now on.
void note_live_file(const std::string& path, const std::string& next_report);

}  // namespace vramscope
