// show_history() is diff --history: the runs in a folder, one a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/command/verb.h"

namespace vramscope {

// Gives the exit code. `listing` has settled rows.
[[nodiscard]] int show_history(const std::string& folder, const Listing& listing,
                               const Reading& reading);

}  // namespace vramscope
