// What the policy of the cache had to do with a refusal, and what another would have done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reporter/report/oom_events.h"

namespace vramscope {

struct Report;

// Whether --policy pytorch asked for a segment of 20 MiB, which was not free, and --exact-fallback
// off forbade one of the request's own size, which was. Then nothing that was held is why.
[[nodiscard]] bool is_refused_by_policy(const Report& report, const OomEvent& event);
// That in words; "" where it was not so.
[[nodiscard]] std::string hint_of_segment(const Report& report, const OomEvent& event);

}  // namespace vramscope
