// The functions here are the parts of vramscope run that a test can call without starting a
// program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/verbs/arguments.h"

namespace vramscope {

// Options end at the first word that is no option, or behind "--". Takes PROGRAM and ARGS out of
// `arguments`, the words behind `run`, in the order typed; `command` knows which options have a
// value.
[[nodiscard]] std::vector<std::string> take_program(const Command& command,
                                                    std::vector<std::string>& arguments);

// The report that stands for the run: the last of the program itself, else the last of all.
struct WrittenReport {
  std::string path;
  Report report;
  std::string place = "report in ";  // what goes before its path
  std::string others = {};           // what is to be said of those of descendants
  std::string next = {};             // a folder, of which a table is shown next; "": the report is
  bool are_several = false;          // processes: then it is said whose the numbers are
};

// Whether one of the reports in the files is of another process than `report`. Reads their heads.
[[nodiscard]] bool has_other_processes(const std::vector<std::string>& paths, const Report& report);

// The folder of the files as seen from `seen`; "": they are not all in one.
[[nodiscard]] std::string common_folder(const std::vector<std::string>& paths,
                                        const std::string& seen);

// At most three lines: what was recorded, where it is, the next command. `others` reports were
// written beside this one.
[[nodiscard]] std::vector<std::string> summary(const WrittenReport& written, std::size_t others);

// `path` as typed from `folder`, when it is inside; else as it is.
[[nodiscard]] std::string seen_from(const std::string& folder, const std::string& path);

}  // namespace vramscope
