// trace_page() makes the page of a trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/stacks/stack_view.h"

namespace vramscope {

struct TracePageOf {
  std::string path;
  const Filter& filter;  // without times
  const StackChoice& stacks;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window = {};  // that is chosen at first
};

struct TracePage {
  std::string page;
  std::string missing;  // that the filter names: "has no device 1; devices: 0"; "": nothing
  std::string problem;  // "": none; else what is wrong with the trace
};

// Reads the trace several times. May throw bad_alloc.
[[nodiscard]] TracePage trace_page(TraceReader& reader, const TracePageOf& of);

}  // namespace vramscope
