// TypedOptions is a list of options as they were typed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vramscope {

using TypedOptions = std::vector<std::pair<std::string, std::string>>;  // {"--kind", "pinned"}

}  // namespace vramscope
