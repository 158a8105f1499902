// OrphanedLiveFiles is what processes of a run left that ended without a report, and what became of
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/command/exit_watcher.h"
#include "reporter/view/system/launch.h"
#include "reporter/view/system/note_file.h"

namespace vramscope {

struct OrphanedLiveFiles {
  std::vector<std::string> reports;       // paths; that of the program that was run is the last one
  bool has_program = false;               // it is among them
  std::vector<std::string> others;        // "python3 (4712)": its descendants'
  std::vector<std::string> problems;      // one line each
  std::vector<std::string> written = {};  // paths of reports that their processes could not note
  [[nodiscard]] bool is_empty() const { return reports.empty() && problems.empty(); }
};

// Recovers the reports of those that ended, of the live files that were noted, under the names that
// were noted with them. Who still runs is left alone; who is just being ended is waited for, a
// second at most. `ends`: when they ended, of those of whom that is known.
[[nodiscard]] OrphanedLiveFiles recover_orphaned(const Notes& notes, const Ending& ending,
                                                 const EndTimes& ends);

// Removes what the dead among them left, and makes no report of it.
void remove_orphaned(const std::vector<std::string>& live_files);

// Of reports that processes wrote where they are not seen from here.
[[nodiscard]] std::string elsewhere_text(const OrphanedLiveFiles& left);

// "ended by SIGKILL; report recovered in ": what goes before the path of a report of the run.
[[nodiscard]] std::string place_text(const OrphanedLiveFiles& left, const Ending& ending);
// "; recovered of 8 descendants that ended without one: python3 (12), python3 (13), ..."; "": of
// none.
[[nodiscard]] std::string others_text(const OrphanedLiveFiles& left);

}  // namespace vramscope
