// What the policy of the cache had to do with a refusal, and what another would have done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/report/oom_events.h"

namespace vramscope {

struct Report;

// Whether the driver served each allocation itself.
[[nodiscard]] bool is_observed(const Report& report);

// What was free for a request that PyTorch's policy serves from a segment of 20 MiB, where
// --exact-fallback off forbade a segment of its own size, which had fit; 0: that was not why, or
// nobody knows.
[[nodiscard]] std::uint64_t free_for_segment(const Report& report, const OomEvent& event);
// Whether it was so: then nothing that was held is why.
[[nodiscard]] bool is_refused_by_policy(const Report& report, const OomEvent& event);
// Whether the policy keeps segments for larger requests from it, whatever is free there.
[[nodiscard]] bool is_for_small_pool(const Report& report, const OomEvent& event);
// Whether it was refused because --policy pytorch reserved what native-safe would have had.
[[nodiscard]] bool native_safe_serves(const Report& report, const OomEvent& event);

// An estimate of what would have been free without the cache. Only of events with details.
[[nodiscard]] std::uint64_t native_free_then(const Report& report, const OomEvent& event);

}  // namespace vramscope
