// totals_text() is what listings end with: all that was allocated, in two lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/leaks/leaked_shares.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Report;

// Allocations, how many were temporary (freed before their thread allocated again), the time in
// them, the peak of each memory, and what was never freed, as `leaks` has it. Ends with a newline.
// It adds up what stands above, and is shown kUnlessRepeated.
[[nodiscard]] Document totals_text(const Report& report, const NameFrame& name);
// The same where it is known already what was never freed.
[[nodiscard]] Document totals_text(const Report& report, const Leaked& leaked);

}  // namespace vramscope
