// live_process_named() finds the recorded process that a person names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reporter/view/system/running.h"

namespace vramscope {

// Returns the process with that number. If it is not recorded, prints one line with the reason.
[[nodiscard]] std::optional<RunningProcess> live_process_named(const std::string& word);
[[nodiscard]] std::optional<RunningProcess> live_process_named(
    const std::string& word, const std::vector<RunningProcess>& running);

// Why the figures of a process without a live file cannot be shown.
[[nodiscard]] std::string no_live_file_of(const RunningProcess& process);

}  // namespace vramscope
