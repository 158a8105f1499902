// trace_page() makes the page of a trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/stacks/stack_view.h"

namespace vramscope {

struct TracePageOf {
  std::string path;
  const Filter& filter;  // without times
  const StackChoice& stacks;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window = {};  // the one that is chosen
                                                                       // first
  std::string advice = {};                                             // as PageOf has it
  std::string fit = {};
};

// `trace` must follow all times. The function reads it three times. Returns nothing on failure;
// missing() or problem() of the trace then says why. May throw bad_alloc.
[[nodiscard]] std::optional<std::string> trace_page(TraceFollower& trace, const TracePageOf& of);

}  // namespace vramscope
