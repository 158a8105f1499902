// own_refusal() finds the process of a refusal; repeated_request() finds refusals that belong to
// one request; live_sizes() lists the sizes that were live.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/oom_events.h"

namespace vramscope {

struct MergedProcess;
struct Report;

// A refusal as the process that was refused has it: in its own time.
struct OwnRefusal {
  const MergedProcess* process = nullptr;  // nullptr: the report is of one process
  const OomEvent* event = nullptr;
};
// Returns the event itself where the report is of one process, or does not know whose it is.
[[nodiscard]] OwnRefusal own_refusal(const Report& report, const OomEvent& event);

// PyTorch and CuPy repeat a refused request after emptying their caches, so the driver refuses one
// request two or three times in a row.
struct RepeatedRequest {
  std::uint64_t number = 0;  // the previous refusal of the same request, by the same process
  std::string owner = {};    // owner of the request: "PyTorch"
};
// Returns nothing if the request is another one, or that is not known. May throw bad_alloc.
[[nodiscard]] std::optional<RepeatedRequest> repeated_request(const Report& report,
                                                              const OomEvent& event);
// Returns how many requests were refused, as far as the report describes them.
[[nodiscard]] std::uint64_t refused_requests(const Report& report);

// Sizes and their counts.
using LiveSizes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
// Returns the sizes of a call site's live allocations, the largest first. They must follow from
// what the site allocated of each size: all its sizes are powers of two, and no other counts of
// them give as many bytes and allocations. Otherwise empty.
[[nodiscard]] LiveSizes live_sizes(const Report& report, const OomShare& share);

}  // namespace vramscope
