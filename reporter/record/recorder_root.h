// RecorderRoot is where a reader of a live file begins with what the recorder has in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct RecorderRoot {
  // The same layout and version only: see layout_of().
  std::uint64_t layout = 0;
  std::uint64_t function_count = 0;
};

}  // namespace vramscope
