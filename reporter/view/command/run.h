// The functions here are the parts of vramscope run that a test can call without starting a
// program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/command/arguments.h"

namespace vramscope {

// Options end at the first word that is no option, or behind "--". Takes PROGRAM and ARGS out of
// `arguments`, the words behind `run`, in the order typed; `command` knows which options have a
// value.
[[nodiscard]] std::vector<std::string> take_program(const Command& command,
                                                    std::vector<std::string>& arguments);

// Files of the run in the order written, each once, where it was written last, and without those
// that the program took away.
[[nodiscard]] std::vector<std::string> existing(std::vector<std::string> paths);

// The report that stands for the run: the last of the program itself, else the last of all.
struct WrittenReport {
  std::string path;
  Report report;
  std::string place = "report in ";  // what goes before its path
  std::string others = {};           // what is to be said of those of descendants
  std::string next = {};             // a folder, of which a table is shown next; "": the report is
  bool are_several = false;          // processes: then it is said whose the numbers are
  bool models_contexts = false;      // the simulated device made up what they take
  std::size_t processes = 1;         // that wrote reports
  std::uint64_t highest_bytes = 0;   // the highest peak of one of them; 0: not known
  std::string highest_by = {};       // whose it was: "train (4711)"
  std::string of_refusal = {};       // its own report of when memory ran out, beside it; "": none
};

// Whether nothing but the simulated device says what contexts take: VRAMSCOPE_SIM does not.
[[nodiscard]] bool models_contexts(const Report& report);

// Sets `processes`, `highest_bytes` and `highest_by` by the reports in the files. Reads only their
// heads, and leaves the highest peak unknown, where together they have more than `most_bytes`. May
// throw bad_alloc.
void count_processes(WrittenReport& written, const std::vector<std::string>& paths,
                     std::uint64_t most_bytes);

// The last other file that the process of `written` wrote because memory ran out; "": there is
// none. Reads their heads.
[[nodiscard]] std::string report_of_refusal(const WrittenReport& written,
                                            const std::vector<std::string>& paths);

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
