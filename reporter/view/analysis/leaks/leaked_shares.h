// leaked_of() lists what was not freed, without what stays by design, as shares of the total.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reporter/view/analysis/leaks/leaks.h"

namespace vramscope {

struct Leaked {
  Leaks leaks;
  std::vector<Share> shares = {};  // shares of the leaks, the largest first
};

// Uses the suppressions that come with Vramscope. May throw bad_alloc.
[[nodiscard]] Leaked leaked_of(const Report& report, const NameFrame& name);

}  // namespace vramscope
