// What texts call a process, and how they say that it ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct MergedProcess;
struct ProcessFacts;

// "rank 3 (4711)", "4711".
[[nodiscard]] std::string process_text(const ProcessFacts& process);
// "train".
[[nodiscard]] std::string program_of(const ProcessFacts& process);

// "was killed by SIGKILL", "died" where nobody saw by what; "" of one that wrote its report itself.
[[nodiscard]] std::string death_text(const MergedProcess& process);
// "killed", "died", "".
[[nodiscard]] std::string death_word(const MergedProcess& process);
// "SIGKILL", "exit"; of a report amid the run, that it went on.
[[nodiscard]] std::string end_text(const MergedProcess& process);

}  // namespace vramscope
