// this_host() names the machine on which the tool runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// Returns the name as reports have it, or "" if the system does not tell.
[[nodiscard]] std::string this_host();

}  // namespace vramscope
