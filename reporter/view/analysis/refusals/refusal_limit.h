// What --device-memory-limit had to do with a refusal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/report/oom_events.h"

namespace vramscope {

struct Report;

// The bytes of --device-memory-limit, where that refused it; 0: the driver did. What it left.
[[nodiscard]] std::uint64_t refusing_limit(const Report& report, const OomEvent& event);
// Only where it is known.
[[nodiscard]] inline bool knows_free_under_limit(const OomEvent& event) {
  return event.counted_bytes != 0 || event.has_details;
}
[[nodiscard]] std::uint64_t free_under_limit(std::uint64_t limit, const OomEvent& event);
// What counted against the limit when it refused.
[[nodiscard]] std::uint64_t counted_then(const OomEvent& event);
// What of the details counts against the limit: what the program has and what the driver keeps for
// it, and nothing of others. They were looked at a moment later, while other threads went on.
[[nodiscard]] std::uint64_t counted_when_looked(const OomEvent& event);

}  // namespace vramscope
