// Whether a process ended by itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

struct MergedProcess;

// Killed, or gone without a report of its own.
[[nodiscard]] bool has_died(const MergedProcess& process);
// Those that have died.
[[nodiscard]] std::vector<const MergedProcess*> dead_among(
    const std::vector<MergedProcess>& processes);
// "killed", "died", "".
[[nodiscard]] std::string death_word(const MergedProcess& process);

}  // namespace vramscope
