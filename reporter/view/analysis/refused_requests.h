// Which refusals are of one request, and which sizes were live.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/oom_events.h"

namespace vramscope {

struct Report;

// PyTorch and CuPy ask the driver again for what it refused, once they have emptied their caches:
// of one request the driver refuses two, or three, in a row.
struct RepeatedRequest {
  std::uint64_t number = 0;  // of the refusal before, of the same request
  std::string owner = {};    // who asked: "PyTorch"
};
// Nothing: the request is another one, or nobody knows. May throw bad_alloc.
[[nodiscard]] std::optional<RepeatedRequest> repeated_request(const Report& report,
                                                              const OomEvent& event);
// How many requests were refused, as far as the report describes them.
[[nodiscard]] std::uint64_t refused_requests(const Report& report);

// A size, and how many of it.
using LiveSizes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
// The sizes that the call stack's live allocations had, the largest first. Only where they follow
// from what the stack allocated of each size: all its sizes are powers of two, and no other numbers
// of them come to as many bytes and allocations. Else empty.
[[nodiscard]] LiveSizes live_sizes(const Report& report, const OomShare& share);

}  // namespace vramscope
