// leaked_of() lists what was not freed, without what stays by design, as shares of all of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reporter/view/analysis/leaks/leaks.h"

namespace vramscope {

struct Leaked {
  Leaks leaks;
  std::vector<Share> shares = {};  // of them, the largest first
};

// With the suppressions that come with Vramscope. May throw bad_alloc.
[[nodiscard]] Leaked leaked_of(const Report& report, const NameFrame& name);

}  // namespace vramscope
