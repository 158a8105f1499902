// Stacks says how texts show call stacks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Call stacks are shown as a part of a row, whole below it, or all in one tree.
enum class Stacks : std::uint8_t { in_rows, in_full, as_tree };

}  // namespace vramscope
