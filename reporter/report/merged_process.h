// merged_processes() tells the processes of a report apart, also of one that was merged.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace vramscope {

struct MergedProcess;
struct Report;

// Those that were merged into the report, or the one whose it is.
[[nodiscard]] std::vector<MergedProcess> merged_processes(const Report& report);

}  // namespace vramscope
