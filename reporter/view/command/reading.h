// Reading is what was typed of the files that a verb reads: what of them is left out, and whose
// lines of source are shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

class Command;
class TraceReader;
struct Report;

struct Reading {
  bool is_redacted = false;    // --redact
  bool shows_sources = false;  // the verb has --source-path
  bool becomes_file = false;   // what is read is merged into a file
  std::vector<std::string> source_folders = {};
  mutable bool has_remarked = false;  // on lines that are left out
};

// --redact: every verb that reads reports has it. A trace holds no arguments.
void add_redact(Command& command, Reading& reading);
// The same and --source-path, of verbs that show lines of source.
void add_reading(Command& command, Reading& reading);

// What is done to a report of `path`, or to one of several ("") that were merged, before anybody
// sees it. Gives a line to be said, once, where lines of source are left out; else "".
[[nodiscard]] std::string take_in(Report& report, const std::string& path, const Reading& reading);

// The same for one that is to be merged. A file that becomes of it is this user's: it has to vouch
// for none that a stranger's report named.
void take_in_for_merge(Report& report, const Reading& reading);

// The same for a trace, which names no host and holds no arguments; `is_own`: its file is this
// user's alone.
[[nodiscard]] std::string take_in(TraceReader& trace, bool is_own, const std::string& path,
                                  const Reading& reading);

}  // namespace vramscope
