// The library tells the `vramscope run` that started the program about its files: see
// kNoteVariable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// Tells the path of a report, or kReportFailed. Without a `run`, or if the program has given up the
// necessary rights, these functions do nothing. Threads: any. May throw bad_alloc.
void note_report(const std::string& path);
void note_trace(const std::string& path);
// Tells the path of the live file, and the report that it stands for from now on.
void note_live_file(const std::string& path, const std::string& next_report);

}  // namespace vramscope
