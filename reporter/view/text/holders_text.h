// Whose the leaks of several processes are, in words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// "rank 3 (4711)", "rank 3 (4711) (killed)".
[[nodiscard]] std::string who_text(const LeakHolder& holder);
// "3 of 8".
[[nodiscard]] std::string of_processes(std::size_t some, std::size_t all);

// ", in rank 3 (4711) alone", ", in 3 of 8 processes, 1.00 MiB to 12.0 MiB, most in rank 3 (4711)";
// "" of no holders. `bytes`: of the place; where the holders' are less others may hold the rest.
[[nodiscard]] std::string holders_text(const std::vector<LeakHolder>& holders,
                                       std::size_t processes, std::uint64_t bytes);

// "8 processes left 36.0 KiB to 12.0 MiB each, median 36.0 KiB, most in rank 3 (4711)", of all
// processes, those that left nothing too; "" of fewer than two.
[[nodiscard]] std::string spread_text(std::vector<LeakHolder> processes);

}  // namespace vramscope
