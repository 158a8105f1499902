// describe_refusal() describes what was live, and what prevented the allocation, when memory ran
// out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reporter/base/event.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

struct ReportParts;

// Describe the event, the first one without its details. `parts` were taken after the refusal.
// Sites are not numbered yet. May throw bad_alloc.
[[nodiscard]] OomEvent describe_briefly(const ReportParts& parts, const Refusal& refusal);
[[nodiscard]] OomEvent describe_refusal(const ReportParts& parts, const Refusal& refusal);

// Notes in the event that `served`, a later allocation, got as much of the same memory.
void add_served(const ReportParts& parts, const Event& served, OomEvent& event);

// Sets the site of each tag in the events. site_of_tag: index into the report's sites; -1: none.
void number_sites(OomReport& oom, const std::vector<std::int64_t>& site_of_tag);

}  // namespace vramscope
