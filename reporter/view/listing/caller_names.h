// Names of callers in a row of a text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// " × 20" for a frame that stands for 20 calls of itself; "" for any other.
[[nodiscard]] std::string times_text(const Caller& caller);

// The name in at most `width` columns where that is possible, its template arguments and then
// itself cut in the middle: "build<float, ..>"; Python's "<locals>" are left out.
[[nodiscard]] std::string function_name(const Caller& caller, std::size_t width);

// "make (a.cpp:1) < build (b.cpp:2) < main (b.cpp:9)"; "unknown" for no frames. Long names are
// cut in the middle, so that the places stay in sight.
[[nodiscard]] std::string text(const CallSite& site);

}  // namespace vramscope
