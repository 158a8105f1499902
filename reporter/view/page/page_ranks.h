// ranks_for_page() gives the heat map of the processes of a merged report, as JSON.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/process_figures.h"

namespace vramscope {

// The letter of a level of the map: nothing, then ever more up to the most of all processes. A
// blank stands where a process does not run.
inline constexpr std::string_view kLevels =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

// An object: what time 0 is, the steps, the most of all, and for each process its number and a
// letter a step. "" where no report has a timeline. May throw bad_alloc.
[[nodiscard]] std::string ranks_for_page(std::vector<ReportOfProcess> reports);

}  // namespace vramscope
