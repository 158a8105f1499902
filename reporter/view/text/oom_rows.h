// What oom_text() tells of refusals in a row each, below the two that it tells in full.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/report/oom_events.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// "300 MiB", or "an allocation" where nobody knows how much that was.
[[nodiscard]] std::string asked_text(const OomEvent& event);

// Those between the first and the last, by call stack and memory; "" where there are none.
[[nodiscard]] std::string refused_too(const Report& report, const NameFrame& name,
                                      const Page& page);

// Call stacks of which no allocation succeeded ever, at most `most` (0: all); "" where there are
// none.
[[nodiscard]] std::string never_served(const Report& report, const NameFrame& name,
                                       const Page& page, std::size_t most);

}  // namespace vramscope
