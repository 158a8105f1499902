// advice_in_trace() finds what advise says of a trace, for the verb and for a page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "reporter/view/analysis/advice/trace_advice.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/command/reading.h"

namespace vramscope {

// Nothing if the trace cannot be read, which was said in one line.
[[nodiscard]] std::optional<TraceAdvice> advice_in_trace(const std::string& path,
                                                         const Reading& reading,
                                                         const StackChoice& stacks);

}  // namespace vramscope
