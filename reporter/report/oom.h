// The functions here look at what was live, and what stood in the way, when memory ran out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/ground/event.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

struct ReportParts;

// The event without its details, then with them. `parts` were taken after the refusal; sites are
// not numbered yet. May throw bad_alloc.
[[nodiscard]] OomEvent describe_briefly(const ReportParts& parts, const Refusal& refusal);
[[nodiscard]] OomEvent describe_refusal(const ReportParts& parts, const Refusal& refusal);

// Says of the event that `served`, after it, was given as much of the same memory.
void add_served(const ReportParts& parts, const Event& served, OomEvent& event);

// Gives each tag in the events its site. site_of_tag: index into the report's sites, -1: none.
void number_sites(OomReport& oom, const std::vector<std::int64_t>& site_of_tag);

}  // namespace vramscope
