// What texts call a process, and how they say that it ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

struct MergedProcess;
struct ProcessFacts;

// "rank 3 (4711)", "4711".
[[nodiscard]] std::string process_text(const ProcessFacts& process);
// "rank 3 (4711)", "train (4711)": where no column or title has the program.
[[nodiscard]] std::string named_process(const ProcessFacts& process);
// "train, rank 3 (4711)", "train (4711)": in titles, which say all.
[[nodiscard]] std::string titled_process(const ProcessFacts& process);
// "train --epochs 2", in words for a shell; where no arguments are known, the program's path.
[[nodiscard]] std::string command_line(const ProcessFacts& process);
// "train"; of Python its script, "train.py", as in names of reports.
[[nodiscard]] std::string program_of(const ProcessFacts& process);

// "was killed by SIGKILL", "died" where nobody saw by what; "" of one that wrote its report itself.
[[nodiscard]] std::string death_text(const MergedProcess& process);
// "rank 3 (4711) was killed by SIGKILL", "2 of 8 processes died"; "": none did.
[[nodiscard]] std::string who_died(const std::vector<MergedProcess>& processes);
// "written at a peak".
[[nodiscard]] std::string trigger_text(std::string_view trigger);
// "SIGKILL", "exit"; of a report amid the run "running (report: signal)".
[[nodiscard]] std::string end_text(const MergedProcess& process);

}  // namespace vramscope
