// A report against what its program knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/differential/known.h"
#include "test/recount/recount.h"

namespace vramscope::differential {

// Calls, bytes and sites are those that the program knows. `stacks`: sites can be told apart.
[[nodiscard]] judge::Problems compare(const judge::Json& report, const Known& known, bool stacks);

}  // namespace vramscope::differential
